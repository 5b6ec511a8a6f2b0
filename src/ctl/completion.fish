# SPDX-License-Identifier: Apache-2.0
# Completion of ferryctl for fish; `ferryctl completion fish` prints it.

function __ferryctl_complete
	set -l words (commandline -opc)
	set -l last (commandline -ct)
	set -l program $words[1]
	set -l bits 4

	set -e words[1]
	for line in ($program __complete $words "$last" 2>/dev/null)
		if string match -qr '^:[0-9]+$' -- $line
			set bits (string sub -s 2 -- $line)
		else
			printf '%s\n' $line
		end
	end
	if test $bits -eq 16
		__fish_complete_directories "$last"
	else if test $bits -eq 0
		__fish_complete_path "$last"
	end
end

complete -c ferryctl -f -a '(__ferryctl_complete)'
complete -c kubectl-ferry -f -a '(__ferryctl_complete)'
