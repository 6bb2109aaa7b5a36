package main

// commands is the table: one row for every command there is.
var commands = []func(*app) *command{
	initCommand,
	validateCommand,
	planCommand,
	applyCommand,
	destroyCommand,

	runListCommand,
	runAttachCommand,
	runStopCommand,
	runCancelCommand,
	runLogsCommand,
	runSSHCommand,
	runAcceptCommand,
	runReportCommand,
	podGPUsCommand,
	podDataCentersCommand,
	podVolumesCommand,
	podTemplatesCommand,
	podLsCommand,
	podRmCommand,
	sweepCommand,

	completionCommand,
	consoleCommand,
	fmtCommand,
	forceUnlockCommand,
	graphCommand,
	importCommand,
	outputCommand,
	providersCommand,
	providersSchemaCommand,
	showCommand,
	stateListCommand,
	stateShowCommand,
	stateMvCommand,
	stateRmCommand,
	statePullCommand,
	statePushCommand,
	versionCommand,

	simStartCommand,
	simStopCommand,
	simStatusCommand,
	simResetCommand,
	simFaultCommand,
	simCatalogCommand,
	simServeCommand,
}

// The command that tells of all others cannot be named in the table that it reads.
func init() {
	commands = append(commands, helpCommand)
}

// commandGroups are the first words of commands of two.
var commandGroups = map[string]bool{"run": true, "pod": true, "state": true, "sim": true, "providers": true}

// internalCommand reports whether the program calls itself, or the making of a
// release calls it, with this word.
func internalCommand(word string) bool { return word == "provider" || word == "manual" }
