/** `edge completion`, and what the shells ask it. */
import { Argument, type Command as Program } from 'commander';
import { tell, write } from '../output/output.ts';

/**
 * Scripts by shell. Each asks `edge` with the words before the cursor, the last of them being completed: `__complete`
 * for words alone, `__describe` for words with what they are. What ends with a colon or an equals sign goes on.
 */
export const COMPLETION_SCRIPTS = {
  // Not by compgen -W, which lets the shell expand what it is given: names come from machines. bash cuts words at = : @
  // as well: what stands together is joined again, and of a candidate only what is behind the last cut is given back,
  // with the @ itself. For bash 3.2 too, which macOS has.
  bash: `_edge() {
  local before found piece typed i rest="$COMP_LINE"
  local -a words
  for ((i = 0; i <= COMP_CWORD; i++)); do
    piece="\${COMP_WORDS[i]}"
    if ((i > 0)) && [[ $rest != [[:space:]]* ]]; then
      words[\${#words[@]}-1]+="$piece"
    else
      rest="\${rest#"\${rest%%[![:space:]]*}"}"
      words+=("$piece")
    fi
    rest="\${rest#"$piece"}"
  done
  typed="\${words[\${#words[@]}-1]}"
  [[ $piece == *[!=:@]* ]] || piece=
  before="\${typed%"$piece"}"
  before="\${before%@}"
  COMPREPLY=()
  while IFS= read -r found; do
    [[ $found == "$typed"* ]] && COMPREPLY+=("\${found#"$before"}")
  done < <(edge __complete "\${words[@]:1}" 2>/dev/null)
  if [[ \${#COMPREPLY[@]} -eq 1 && \${COMPREPLY[0]} == *[:=] ]]; then
    compopt -o nospace 2>/dev/null
  fi
}
complete -o default -F _edge edge
`,
  // Also as a file of $fpath, which is the function itself when it is called first.
  zsh: `#compdef edge
_edge() {
  local line word
  local -a ended open
  while IFS= read -r line; do
    word="\${line%%$'\\t'*}"
    [[ $line == *$'\\t'* ]] && line="\${word//:/\\\\:}:\${line#*$'\\t'}" || line="\${word//:/\\\\:}"
    if [[ $word == *[:=] ]]; then open+=("$line"); else ended+=("$line"); fi
  done < <(edge __describe "\${(@)words[2,CURRENT-1]}" "$PREFIX" 2>/dev/null)
  if ((\${#ended} + \${#open} == 0)); then
    _files
    return
  fi
  ((\${#ended})) && _describe -t words edge ended
  ((\${#open})) && _describe -t words edge open -S ''
}
if [[ \${funcstack[1]} == _edge ]]; then _edge "$@"; else compdef _edge edge; fi
`,
  fish: `function __edge_candidates
    set -l current (commandline -ct)
    set -l words (commandline -opc)
    set -l found (edge __describe $words[2..-1] "$current" 2>/dev/null)
    if test (count $found) -gt 0
        printf '%s\\n' $found
    else
        __fish_complete_path "$current"
    end
end
complete -c edge -f -a '(__edge_candidates)'
`,
} as const;

const HELP = `
Examples:
  source <(edge completion bash)                                  in ~/.bashrc
  source <(edge completion zsh)                                   in ~/.zshrc
  edge completion fish > ~/.config/fish/completions/edge.fish

Names of nodes and clusters are asked of the service, with the connection that edge has at that moment.`;

/** The script for a shell. */
export function addCompletionCommand(program: Program): void {
  program
    .command('completion')
    .addArgument(new Argument('<shell>', 'the shell').choices(Object.keys(COMPLETION_SCRIPTS)))
    .description('print what makes a shell complete commands, options and names')
    .addHelpText('after', HELP)
    .action(async (shell: keyof typeof COMPLETION_SCRIPTS) => {
      if (process.stdout.isTTY) tell('this is for the shell: edge completion --help says where it goes');
      await write(COMPLETION_SCRIPTS[shell]);
    });
}
