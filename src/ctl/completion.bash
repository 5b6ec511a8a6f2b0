# SPDX-License-Identifier: Apache-2.0
# Completion of ferryctl for bash; `ferryctl completion bash` prints it.

_ferryctl()
{
	local line last prefix bits=4
	local -a words found

	# As typed: bash takes words apart at = and :, which names may have.
	line=${COMP_LINE:0:COMP_POINT}
	read -ra words <<<"$line"
	case $line in
	*[[:space:]]) words+=("") ;;
	esac
	last=${words[${#words[@]} - 1]}
	prefix=${last%"${last##*[=:]}"}
	words[0]=${words[0]/#\~/$HOME}
	mapfile -t found < <("${words[0]}" __complete "${words[@]:1}" 2>/dev/null)
	COMPREPLY=()
	for line in "${found[@]}"; do
		case $line in
		:*) bits=${line#:} ;;
		*)
			line=${line%%$'\t'*}
			COMPREPLY+=("${line#"$prefix"}")
			;;
		esac
	done
	last=${last#"$prefix"}
	if ((bits & 16)); then
		mapfile -t COMPREPLY < <(compgen -d -- "$last")
		compopt -o filenames 2>/dev/null
	elif ((!(bits & 4))); then
		mapfile -t COMPREPLY < <(compgen -f -- "$last")
		compopt -o filenames 2>/dev/null
	fi
}

complete -F _ferryctl ferryctl kubectl-ferry
