/** `edge connect`. */
import type { Command as Program } from 'commander';
import type { ConnectionFlags } from '../service/connection.ts';
import { SSH_PORT } from '../reach/host-names.ts';
import { connect } from '../reach/connect.ts';

const HELP = `
Examples:
  edge connect web-1 5432                              as nc, to a port of the machine itself
  edge connect web-1 10.0.0.5:80                       to what the machine reaches
  ssh -o ProxyCommand='edge connect gw.prod.edge.internal %h:%p' admin@10.0.0.5
  ssh -o ProxyCommand='edge connect --ssh %h %p' -p ${SSH_PORT} web-1.prod.edge.internal    what edge ssh-config writes`;

/** A stream to a node: what ProxyCommand of ssh uses. */
export function addConnectCommand(program: Program): void {
  program
    .command('connect <node> <port>')
    .description('join stdin and stdout to a port of a node, or to HOST:PORT through it')
    .option('--ssh', `port ${SSH_PORT} stands for that of the node's SSH server, wherever it listens`)
    .addHelpText('after', HELP)
    .action(async (node: string, target: string, { ssh }: { readonly ssh?: boolean }, command: Program) => {
      await connect({ node, target, isSsh: ssh === true }, command.optsWithGlobals<ConnectionFlags>());
    });
}
