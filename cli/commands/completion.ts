/** `edge completion`, and what the shells ask it. */
import { Argument, type Command as Program } from 'commander';
import { tell, write } from '../output.ts';

/** Scripts by shell. Each asks `edge __complete` with the words before the cursor, the last of them being completed. */
const SCRIPTS = {
  // not by compgen -W, which lets the shell expand what it is given: names come from machines
  bash: `_edge() {
  local found word="\${COMP_WORDS[COMP_CWORD]}"
  COMPREPLY=()
  while IFS= read -r found; do
    [[ $found == "$word"* ]] && COMPREPLY+=("$found")
  done < <(edge __complete "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -o default -F _edge edge
`,
  zsh: `#compdef edge
_edge() {
  local -a found
  found=("\${(@f)$(edge __complete "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  compadd -- \${found:#}
}
compdef _edge edge
`,
  fish: `complete -c edge -f -a '(edge __complete (commandline -opc)[2..] (commandline -ct) 2>/dev/null)'
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
    .addArgument(new Argument('<shell>', 'the shell').choices(Object.keys(SCRIPTS)))
    .description('print what makes a shell complete commands, options and names')
    .addHelpText('after', HELP)
    .action(async (shell: keyof typeof SCRIPTS) => {
      if (process.stdout.isTTY) tell('this is for the shell: edge completion --help says where it goes');
      await write(SCRIPTS[shell]);
    });
}
