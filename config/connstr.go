package config

import (
	"net/url"
	"slices"
	"strings"
)

// connSecrets are the parameters of a PostgreSQL connection string that are
// secret.
var connSecrets = []string{"password", "sslpassword"}

// publicConnStr gives a PostgreSQL connection string, in either of its forms,
// without what is secret in it, and whether that is all of it. Nothing is public
// of one that does not parse: anything in it may be secret.
func publicConnStr(conn string) (public string, whole bool) {
	if strings.HasPrefix(conn, "postgres://") || strings.HasPrefix(conn, "postgresql://") {
		return publicConnURL(conn)
	}
	pairs, ok := connPairs(conn)
	if !ok {
		return "", false
	}
	var out []string
	for _, p := range pairs {
		if !slices.Contains(connSecrets, p[0]) {
			out = append(out, p[0]+"='"+strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(p[1])+"'")
		}
	}
	return strings.Join(out, " "), len(out) == len(pairs)
}

func publicConnURL(conn string) (string, bool) {
	u, err := url.Parse(conn)
	if err != nil {
		return "", false
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return "", false
	}
	whole := true
	if _, has := u.User.Password(); has {
		u.User, whole = url.User(u.User.Username()), false
	}
	for _, name := range connSecrets {
		whole = whole && !query.Has(name)
		query.Del(name)
	}
	u.RawQuery = query.Encode()
	return u.String(), whole
}

// connPairs reads the form key=value, in which a value may be quoted and a
// backslash takes the character after it as it is.
func connPairs(conn string) (pairs [][2]string, ok bool) {
	for rest := strings.TrimSpace(conn); rest != ""; rest = strings.TrimSpace(rest) {
		key, after, found := strings.Cut(rest, "=")
		key = strings.TrimSpace(key)
		if !found || key == "" || strings.ContainsAny(key, " \t\n'\\") {
			return nil, false
		}
		value, left, ok := connValue(strings.TrimLeft(after, " \t\n"))
		if !ok {
			return nil, false
		}
		pairs, rest = append(pairs, [2]string{key, value}), left
	}
	return pairs, true
}

// connValue reads one value, and gives what follows it.
func connValue(s string) (value, rest string, ok bool) {
	quoted := strings.HasPrefix(s, "'")
	s = strings.TrimPrefix(s, "'")
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\' && i+1 < len(s):
			i++
			b.WriteByte(s[i])
		case quoted && c == '\'':
			return b.String(), s[i+1:], true
		case !quoted && strings.IndexByte(" \t\n", c) >= 0:
			return b.String(), s[i:], true
		default:
			b.WriteByte(c)
		}
	}
	return b.String(), "", !quoted
}
