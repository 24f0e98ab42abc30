/** `edge node add`: the line that makes another machine a node. */
import type { Command as Program } from 'commander';
import { isLoopbackHost } from '../../transport/net/addresses.ts';
import { limitFlag } from '../arguments.ts';
import { ofCluster } from '../names/clusters.ts';
import { durationMs } from '../duration.ts';
import { bareUrls, givenLabels } from '../enrollment-keys.ts';
import { tell, write } from '../output/output.ts';
import { plainText } from '../output/plain-text.ts';
import { EXIT, Problem } from '../problem.ts';
import { sessionOf } from '../service/session.ts';
import { shellWord } from '../shell-words.ts';
import { isForPeople } from '../table/format.ts';

/** Where an admin serves the installation, and what its answer says of it. Source: api/install/routes.ts. */
const INSTALL_PATH = '/install.sh';
const RELEASE_HEADER = 'edge-release';
const ADMIN_URLS_HEADER = 'edge-admin-urls';

/** An admin answers within this time, in ms. */
const ANSWER_MS_MAX = 10_000;

/** URLs that need no quoting. */
const PLAIN_URL = /^https?:\/\/[\w.:/~%@[\]-]+$/u;

interface AddFlags {
  readonly name?: string;
  readonly labels?: string;
  readonly uses: number | 'unlimited';
  readonly expires: string;
  readonly publicUrl?: string;
}

const HELP = `
It is run on the other machine, by somebody who may use sudo. Without root: put --user behind its --key and leave sudo out.

Examples:
  edge node add prod
  edge node add prod --name web-1 --labels env=prod
  edge node add prod --uses 50 --expires 2h             for a rack of machines
  ssh root@10.0.0.7 "$(edge node add prod)"

Exit status: 0 made, 4 no such cluster; 1, 2, 3 as of edge.`;

/** `edge node add`. */
export function addNodeAdd(node: Program): void {
  node
    .command('add <cluster>')
    .description('print the line that installs the agent on a machine and makes it a node; it holds a new key')
    .option('--name <name>', 'alias of the node')
    .option('-l, --labels <labels>', 'labels of all machines that the line lets in, such as env=prod,site=hall-3')
    .option('--uses <n>', 'how many machines the line lets in: a number, or unlimited', limitFlag, 1)
    .option('--expires <duration>', 'how long the line is valid', '1h')
    .option('--public-url <url>', 'URL by which the machine reaches the admin, where it is not one of ADMIN_URLS')
    .addHelpText('after', HELP)
    .action(addNode);
}

async function addNode(cluster: string, flags: AddFlags, command: Program): Promise<void> {
  const { api, connection, record, format } = sessionOf(command);
  const { name, uses, publicUrl } = flags;
  if (name !== undefined && uses !== 1)
    throw new Problem('--name is the name of one machine, and --uses lets in others: leave one out', EXIT.usage);
  if (name !== undefined && !/^[a-z\d](?:[a-z\d-]{0,61}[a-z\d])?$/u.test(name))
    throw new Problem(`--name is "${name}": it should be of lower-case letters, digits and hyphens`, EXIT.usage);
  const given = publicUrl === undefined ? null : publicUrlOf(publicUrl);
  const expiresMs = durationMs(flags.expires, '--expires');
  const labels = flags.labels === undefined ? undefined : await givenLabels(flags.labels);
  await api.list_enrollment_keys.query({ page_size: 1 }); // a wrong key or URL is told as by every command
  const { hasRelease, adminUrls } = await installationAt(connection.url);
  if (!hasRelease)
    throw new Problem(
      'this admin has no release of the agent to install: edge release init makes and publishes one',
      EXIT.failed,
    );
  const url = given ?? reachedBy(adminUrls);
  const created = await ofCluster(cluster, () =>
    api.create_enrollment_key.mutate({
      cluster_name: cluster,
      uses_remaining: uses === 'unlimited' ? null : uses,
      expired_at: new Date(Date.now() + expiresMs).toISOString(),
      ...(name !== undefined && { name }),
      ...(labels !== undefined && { labels }),
    }),
  );
  const isOther = given !== null && !adminUrls.includes(given);
  const line = [
    `curl -fsSL ${shellWord(`${url}${INSTALL_PATH}`)} | sudo sh -s -- --key ${created.key}`,
    ...(isOther ? [`--admin ${shellWord(url)}`] : []),
    ...(name === undefined ? [] : [`--name ${name}`]),
  ].join(' ');
  await (isForPeople(format) ? write(`${plainText(line)}\n`) : record({ line, url, key: created }));
  tellOf(url, created.key, flags, isOther);
}

/** What whoever passes the line on should know. */
function tellOf(url: string, key: string, { uses, expires }: AddFlags, isOther: boolean): void {
  tell(`the line lets in ${uses === 1 ? 'one machine' : `${uses} machines`} within ${expires}`);
  if (url.startsWith('http:'))
    tell(
      'it fetches a program by http, which whoever stands in between can change: use an https URL for real machines',
    );
  const bare = isOther ? [] : bareUrls(key);
  if (bare.length > 0)
    tell(
      `the machine has to know the name in ${bare.join(', ')}: else set ADMIN_URLS of edge-admin, or give --public-url`,
    );
}

/** What the admin has to install, and by which URLs machines reach it. Throws a Problem where it has no such thing. */
async function installationAt(
  url: string,
): Promise<{ readonly hasRelease: boolean; readonly adminUrls: readonly string[] }> {
  const answer = await fetch(`${url}${INSTALL_PATH}`, {
    method: 'HEAD',
    signal: AbortSignal.timeout(ANSWER_MS_MAX),
  });
  if (answer.status >= 500)
    throw new Problem(
      `the admin does not say now what it has to install (status ${answer.status}): try again`,
      EXIT.failed,
    );
  const release = answer.headers.get(RELEASE_HEADER);
  if (!answer.ok || release === null)
    throw new Problem('this admin serves no installation: it is older than this edge', EXIT.failed);
  const adminUrls = (answer.headers.get(ADMIN_URLS_HEADER) ?? '').split(' ').filter((text) => text !== '');
  return { hasRelease: release === 'yes', adminUrls };
}

/** The first of the admin's URLs that another machine may reach. Throws a Problem where there is none. */
function reachedBy(adminUrls: readonly string[]): string {
  const found = adminUrls.find((url) => !isLoopback(url));
  if (found !== undefined) return found;
  const [url = 'not known'] = adminUrls;
  throw new Problem(
    `no other machine reaches this admin, whose URL is ${url}: set ADMIN_URLS of edge-admin, or give --public-url URL`,
    EXIT.failed,
  );
}

function isLoopback(url: string): boolean {
  return URL.canParse(url) && isLoopbackHost(new URL(url).hostname.replace(/^\[|\]$/gu, ''));
}

function publicUrlOf(text: string): string {
  const url = text.replace(/\/+$/u, '');
  if (PLAIN_URL.test(url) && URL.canParse(url) && new URL(url).username === '') return url;
  throw new Problem(`--public-url is "${text}": it should be a URL such as https://admin.example.com`, EXIT.usage);
}
