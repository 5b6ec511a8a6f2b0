#compdef ferryctl kubectl-ferry
# SPDX-License-Identifier: Apache-2.0
# Completion of ferryctl for zsh; `ferryctl completion zsh` prints it.

_ferryctl()
{
	local line word about
	local -i bits=4
	local -a asked lines values

	asked=("${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}")
	lines=("${(@f)$("${(Q)words[1]/#\~/$HOME}" __complete "${asked[@]}" 2>/dev/null)}")
	for line in "${lines[@]}"; do
		if [[ $line == :* ]]; then
			bits=${line#:}
			continue
		fi
		[[ -n $line ]] || continue
		word=${line%%$'\t'*}
		about=
		[[ $line == *$'\t'* ]] && about=${line#*$'\t'}
		values+=("${word//:/\\:}${about:+:$about}")
	done
	if ((bits & 16)); then
		_files -/
	elif ((!(bits & 4))); then
		_files
	else
		_describe ferryctl values
	fi
}

if [[ $funcstack[1] == _ferryctl ]]; then
	_ferryctl "$@"
else
	compdef _ferryctl ferryctl kubectl-ferry
fi
