# Finds modules of a crate that import each other in a circle, by whatever way. Reads all sources of all crates; what
# stands in one file or folder below `src` is one module. Parameters behind a gap are local variables.

FNR == 1 { tests = 0; paths[++files] = FILENAME }
/^#\[cfg\(test\)\]/ { tests = 1 }
!tests { sub(/\/\/.*/, ""); text[FILENAME] = text[FILENAME] " " $0 }

END {
	for (i = 1; i <= files; i++) place(paths[i])
	for (i = 1; i <= files; i++) if (!depth[paths[i]]) reexports(paths[i])
	for (i = 1; i <= files; i++) if (depth[paths[i]]) imports(paths[i])
	for (crate in count) {
		# What is imported by what is imported (Warshall).
		for (k = 1; k <= count[crate]; k++) for (a = 1; a <= count[crate]; a++)
			if ((crate, a, k) in reaches) for (b = 1; b <= count[crate]; b++)
				if ((crate, k, b) in reaches) reaches[crate, a, b]
		for (a = 1; a <= count[crate]; a++) circle(crate, a)
	}
}

# The crate, the module, and how deep a file stands in the crate; 0 is its root, which is no module.
function place(path,    parts, n) {
	n = split(path, parts, "/")
	if (parts[n] == "mod.rs") n--
	crate_of[path] = parts[2]
	sub(/\.rs$/, "", parts[4])
	depth[path] = parts[4] ~ /^(lib|main)$/ ? 0 : n - 3
	if (!depth[path]) return
	if (!((parts[2], parts[4]) in number)) {
		number[parts[2], parts[4]] = ++count[parts[2]]
		name[parts[2], count[parts[2]]] = parts[4]
	}
	module_of[path] = parts[4]
}

# What the root of a crate hands on is imported from where it stands.
function reexports(path,    rest, from) {
	rest = text[path]
	while (match(rest, /pub(\([a-z]*\))? use [a-z_]+::/)) {
		from = substr(rest, RSTART, RLENGTH - 2)
		sub(/.* /, "", from)
		rest = substr(rest, RSTART + RLENGTH)
		if ((crate_of[path], from) in number) names(rest, crate_of[path], "", from)
	}
}

# Paths that lead up to the root of the crate, and then down again.
function imports(path,    rest, prefix, ups) {
	rest = text[path]
	while (match(rest, /(^|[^a-z_])(crate|super(::super)*)::[A-Za-z_{]/)) {
		prefix = substr(rest, RSTART, RLENGTH - 1)
		rest = substr(rest, RSTART + RLENGTH - 1)
		ups = gsub(/super/, "", prefix)
		if (!ups || ups == depth[path]) names(rest, crate_of[path], module_of[path], "")
	}
}

# The names at the beginning of `rest`, each by itself or first in a path, alone or in braces: they stand in the
# module `from`, or they are what `to` imports.
function names(rest, crate, to, from,    deep) {
	for (deep = 0; rest != ""; ) {
		if (match(rest, /^[A-Za-z_0-9]+/)) {
			note(crate, to, from, substr(rest, 1, RLENGTH))
			rest = substr(rest, RLENGTH + 1)
			if (!deep) return
			# On to the next name at this depth.
			while (rest != "" && (deep > 1 || rest !~ /^[,}]/)) {
				if (rest ~ /^\{/) deep++
				if (rest ~ /^\}/) deep--
				rest = substr(rest, 2)
			}
		}
		if (rest ~ /^\{/) deep++
		if (rest ~ /^\}/) return
		rest = substr(rest, 2)
	}
}

function note(crate, to, from, what) {
	if (from != "") { origin[crate, what] = from; return }
	if (!((crate, what) in number) && (crate, what) in origin) what = origin[crate, what]
	if ((crate, what) in number && what != to) reaches[crate, number[crate, to], number[crate, what]]
}

# Reports the circle in which a module is, by the first of its modules.
function circle(crate, a,    b, list) {
	if (!((crate, a, a) in reaches)) return
	for (b = 1; b <= count[crate]; b++) if ((crate, a, b) in reaches && (crate, b, a) in reaches) {
		if (b < a) return
		list = list " " name[crate, b]
	}
	printf "crates/%s/src:%s import each other in a circle; let both import what they share\n", crate, list
}
