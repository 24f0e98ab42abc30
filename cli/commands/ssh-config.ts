/** `edge ssh-config`. */
import { homedir, userInfo } from 'node:os';
import { resolve } from 'node:path';
import type { Command as Program } from 'commander';
import type { Api } from '../service/client.ts';
import { clusterOf } from '../names/clusters.ts';
import { tell, write } from '../output/output.ts';
import { EXIT, Problem } from '../problem.ts';
import { checkedHostName, SSH_PORT } from '../reach/host-names.ts';
import { proxyOf } from '../reach/proxy.ts';
import { toldPortsOf } from '../reach/told-ports.ts';
import { defaultConfigFile, includeConfig, includeLine, sshConfigText, writeBlock } from '../reach/ssh-config.ts';
import { sessionOf } from '../service/session.ts';

interface ConfigFlags {
  readonly cluster?: string;
  readonly write?: string | true;
  readonly include?: boolean;
}

const HELP = `
Examples:
  edge ssh-config --include                    once; then, as with any other machine:
    ssh admin@web-1.prod.edge.internal
    rsync -a ./site/ admin@web-1.prod.edge.internal:/srv/site/
    git clone admin@web-1.prod.edge.internal:project.git
    code --remote ssh-remote+admin@web-1.prod.edge.internal /srv
  edge ssh-config > node.conf; ssh -F node.conf web-1.prod.edge.internal

ssh starts edge connect, which takes URL and key from EDGE_URL, EDGE_API_KEY, EDGE_PROXY_URL and EDGE_PROXY_KEY or, as editors
have no such variables, from what edge login remembers. Port ${SSH_PORT} stands for the SSH server of a node, wherever that listens.`;

/** A block for the configuration of ssh. */
export function addSshConfigCommand(program: Program): void {
  program
    .command('ssh-config')
    .description('print what makes ssh, scp, sftp, rsync, git and editors get to nodes by their host names')
    .option('-c, --cluster <name>', 'for the nodes of this cluster only')
    .option(
      '--write [file]',
      'write it to a file (default: ~/.ssh/edge_config), beside what other services and clusters have there, and say how ssh reads that',
    )
    .option('--include', 'write it, and put the line that makes ssh read it at the top of ~/.ssh/config, once')
    .addHelpText('after', HELP)
    .action(async (flags: ConfigFlags, command: Program) => {
      const { api, connection } = sessionOf(command);
      await proxyOf(connection, process.env, () => toldPortsOf(api)); // ssh would say less clearly what is wrong there
      const domain = await domainOf(api, flags.cluster);
      const text = sshConfigText(domain, process.env);
      if (flags.write === undefined && flags.include !== true) return write(text);
      tell(`ssh goes by edge to every host *.${domain} from then on`);

      const file = typeof flags.write === 'string' ? resolve(flags.write) : defaultConfigFile();
      writeBlock(file, domain, text);
      if (flags.include === true) {
        tell(`putting "${includeLine(file)}" at the top of ~/.ssh/config`);
        tell(
          includeConfig(file) === null
            ? `it is there already; ${file} is written anew`
            : `done; ssh reads ${file} from now on`,
        );
      } else
        tell(
          `${file} is written; ssh reads it with this line at the top of ~/.ssh/config (--include puts it there): ${includeLine(file)}`,
        );
      if (homedir() !== userInfo().homedir)
        tell(`ssh reads the configuration below ${userInfo().homedir}, whatever HOME says`);
      return undefined;
    });
}

/**
 * The end of the host names of all nodes, or of those of a cluster. Any cluster tells it. Refuses a single word: the
 * hosts of a whole top-level domain are not those of one service.
 */
async function domainOf(api: Api, cluster: string | undefined): Promise<string> {
  const domain = await toldDomain(api, cluster);
  if (domain.includes('.')) return domain;
  throw new Problem(`the service says that its nodes are all hosts *.${domain}: nothing was written`);
}

async function toldDomain(api: Api, cluster: string | undefined): Promise<string> {
  if (cluster !== undefined) return checkedHostName((await clusterOf(api, cluster)).vpn_domain);
  const {
    data: [first],
  } = await api.list_clusters.query({ page_size: 1 });
  if (first === undefined)
    throw new Problem('there is no cluster yet, so no host name of a node: edge cluster create NAME', EXIT.notFound);
  return checkedHostName(first.vpn_domain.slice(first.name.length + 1));
}
