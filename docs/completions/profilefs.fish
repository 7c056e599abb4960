# fish completion for profilefs

# A profile is a folder, and what stands in it is no file of the system: profilefs itself lists it.
function __profilefs_paths
    set -l token (commandline -ct)
    set -l folder (string replace -r '[^/]*$' '' -- $token)
    set -l listed $folder
    test -n "$folder"; or set listed .
    set -l names (timeout 2 profilefs ls "$listed" 2>/dev/null)
    # A link to a folder is completed like a folder.
    set -l matching (string match -- (string replace -r '.*/' '' -- $token)'*' $names)
    if test (count $matching) -eq 1; and not string match -q '*/' -- $matching
        timeout 2 profilefs stat "$folder$matching/" 2>/dev/null | string match -q 'Type: directory'
        and set names $matching/
    end
    for name in $names
        echo $folder$name
    end
end

set -l commands ls cat stat tree index check cache compare summary formats
complete -c profilefs -n "not __fish_seen_subcommand_from $commands" -a ls -d 'List a directory'
complete -c profilefs -n "not __fish_seen_subcommand_from $commands" -a cat -d 'Print files'
complete -c profilefs -n "not __fish_seen_subcommand_from $commands" -a stat -d 'Tell size, mode and time'
complete -c profilefs -n "not __fish_seen_subcommand_from $commands" -a tree -d 'Show everything below'
complete -c profilefs -n "not __fish_seen_subcommand_from $commands" -a index -d 'Precompute sizes and aggregates'
complete -c profilefs -n "not __fish_seen_subcommand_from $commands" -a cache -d 'Show the size of the cache, or clear it'
complete -c profilefs -n "not __fish_seen_subcommand_from $commands" -a check -d 'Validate profiles'
complete -c profilefs -n "not __fish_seen_subcommand_from $commands" -a compare -d 'Tell what grew and what shrank'
complete -c profilefs -n "not __fish_seen_subcommand_from $commands" -a summary -d 'Print a one-page summary of each profile'
complete -c profilefs -n "not __fish_seen_subcommand_from $commands" -a formats -d 'List the known formats'
complete -c profilefs -n "__fish_seen_subcommand_from ls cat stat tree" -f -a '(__profilefs_paths)'
complete -c profilefs -n "__fish_seen_subcommand_from cache" -a clear -d 'Drop what is kept'
complete -c profilefs -n "__fish_seen_subcommand_from index" -l report -d 'Print counts for each profile'
complete -c profilefs -n "not __fish_seen_subcommand_from $commands" -s f -d 'Stay in the foreground'
complete -c profilefs -n "not __fish_seen_subcommand_from $commands" -s d -d 'Debug messages of FUSE'
complete -c profilefs -n "not __fish_seen_subcommand_from $commands" -s s -d 'Run passes on one thread'
complete -c profilefs -s o -x -a 'metric= instr_map= cache= cache_dir= cache_limit= only_profiles no_archives allow_other allow_root' -d 'Mount options'
complete -c profilefs -l help -d 'Print a summary'
complete -c profilefs -l version -d 'Print the version'
