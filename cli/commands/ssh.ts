/** `edge ssh` and `edge cp`: OpenSSH of this machine, to a node. */
import type { Command as Program } from 'commander';
import type { ConnectionFlags } from '../service/connection.ts';
import { become, fileOf, nodeOptions } from '../reach/openssh.ts';
import { checkLogin } from '../reach/logins.ts';
import { connectedPlace } from '../reach/places.ts';
import { proxyOf } from '../reach/proxy.ts';
import { toldPortsOf } from '../reach/told-ports.ts';
import { cpWordsOf, namesOtherServer, sshWordsOf } from '../reach/ssh-words.ts';
import { sessionOf } from '../service/session.ts';

const SSH_HELP = `
Options of ssh itself go before or after NODE (-l, -i, -L, -D, -R, -t, -T, -N, -v, -o, …), those of edge before the word ssh.
NODE is an id, the beginning of one, an alias, alias.cluster or a host name. Who may log in: edge sshuser --help.

Examples:
  edge ssh web-1
  edge ssh admin@web-1 -- uptime
  edge ssh -i ~/.ssh/id_ed25519 -L 8080:localhost:80 admin@web-1.prod
  edge ssh -p 22 root@web-1          the machine's own sshd, where it has one

Exit status: that of the command, 255 when ssh could not log in; else as of edge.`;

const CP_HELP = `
Options of scp itself go before the paths (-r, -p, -C, -l, -i, -o, …), those of edge before the word cp. One side is on one node.

Examples:
  edge cp app.conf web-1:/etc/app/
  edge cp -r admin@web-1:/var/log/app ./logs
  edge cp ./odd:name web-1:          a local name with a colon, as scp takes it

Exit status: that of scp.`;

/** A shell or a command on a node, and copies of files. */
export function addSshCommands(program: Program): void {
  program
    .command('ssh [words...]')
    .usage('[OPTIONS] [USER@]NODE [OPTIONS] [-- COMMAND]')
    .description('log into a node, or run a command there, with OpenSSH')
    .addHelpText('after', SSH_HELP)
    .action(async (words: readonly string[], _flags: object, command: Program) => {
      const { options, user, node, command: remote } = sshWordsOf(words);
      const { api, connection } = sessionOf(command);
      // what is wrong there is told once, and not by the program that ssh starts
      const proxy = await proxyOf(connection, process.env, () => toldPortsOf(api));
      const place = await connectedPlace(api, node);
      fileOf('ssh');
      await checkLogin(api, { ...place, name: node }, user, options);
      become(
        'ssh',
        [
          ...options,
          ...nodeOptions(place, process.env, namesOtherServer('ssh', options)),
          ...(user === null ? [] : ['-l', user]),
          '--',
          place.host,
          ...remote,
        ],
        { ...command.optsWithGlobals<ConnectionFlags>(), proxyUrl: proxy.url },
      );
    });

  program
    .command('cp [words...]')
    .usage('[OPTIONS] SOURCE… TARGET')
    .description('copy files to or from a node, with scp')
    .addHelpText('after', CP_HELP)
    .action(async (words: readonly string[], _flags: object, command: Program) => {
      const { options, node, operands } = cpWordsOf(words);
      const { api, connection } = sessionOf(command);
      const proxy = await proxyOf(connection, process.env, () => toldPortsOf(api));
      const place = await connectedPlace(api, node);
      fileOf('scp');
      const users = new Set(operands.flatMap((operand) => (operand.node === null ? [] : [operand.user])));
      for (const user of users) await checkLogin(api, { ...place, name: node }, user, options);
      const paths = operands.map((operand) =>
        operand.node === null
          ? operand.path
          : `${operand.user === null ? '' : `${operand.user}@`}${place.host}:${operand.path}`,
      );
      become(
        'scp',
        [...options, ...nodeOptions(place, process.env, namesOtherServer('scp', options)), '--', ...paths],
        {
          ...command.optsWithGlobals<ConnectionFlags>(),
          proxyUrl: proxy.url,
        },
      );
    });
}
