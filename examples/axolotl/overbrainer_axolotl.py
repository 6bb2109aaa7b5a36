"""An Axolotl plugin: metrics and snapshots of a training run, by the callback in
overbrainer_job.py. In the configuration:

    plugins:
      - overbrainer_axolotl.Plugin

Both files lie in the job's directory, which has to be in PYTHONPATH.
"""

from axolotl.integrations.base import BasePlugin

import overbrainer_job as job


class Plugin(BasePlugin):
    def add_callbacks_pre_trainer(self, cfg, model):
        return [job.TrainerCallback()]
