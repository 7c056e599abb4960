# bash completion for profilefs

_profilefs() {
    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
    local commands='ls cat stat tree index check cache compare summary formats'

    if [[ $previous == -o ]]; then
        mapfile -t COMPREPLY < <(compgen -W 'metric= instr_map= cache= cache_dir= cache_limit= only_profiles no_archives allow_other allow_root' -- "$current")
        [[ ${COMPREPLY[0]-} == *= ]] && compopt -o nospace 2>/dev/null
        return
    fi
    if [[ $current == -* ]]; then
        local options='-f -d -s -o --help --version'
        [[ ${COMP_WORDS[1]} == index ]] && options='--report'
        mapfile -t COMPREPLY < <(compgen -W "$options" -- "$current")
        return
    fi
    if ((COMP_CWORD == 1)); then
        mapfile -t COMPREPLY < <(compgen -W "$commands" -- "$current"; compgen -d -- "$current")
        return
    fi
    # A profile is a folder, and what stands in it is no file of the system: profilefs itself lists it.
    case ${COMP_WORDS[1]} in
        formats) ;;
        ls | cat | stat | tree)
            local folder=${current%"${current##*/}"} file=${current##*/}
            mapfile -t COMPREPLY < <(timeout 2 profilefs ls "${folder:-.}" 2>/dev/null | while IFS= read -r name; do
                [[ $name == "$file"* && ($name != .* || $file == .*) ]] && printf '%s\n' "$folder$name"
            done)
            # A link to a folder is completed like a folder.
            if [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} != */ &&
                $(timeout 2 profilefs stat "${COMPREPLY[0]}/" 2>/dev/null) == *'Type: directory'* ]]; then
                COMPREPLY[0]+=/
            fi
            ((${#COMPREPLY[@]})) || mapfile -t COMPREPLY < <(compgen -f -- "$current")
            compopt -o filenames 2>/dev/null
            # A folder is gone on with; that a profile is one, readline does not see by itself.
            [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == */ ]] && compopt -o nospace 2>/dev/null
            ;;
        *)
            mapfile -t COMPREPLY < <(compgen -f -- "$current")
            compopt -o filenames 2>/dev/null
            ;;
    esac
}

complete -F _profilefs profilefs
