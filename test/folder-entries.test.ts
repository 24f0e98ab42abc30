/**
 * Which files of a folder others import: its entries. What else is in the folder is its own, and may change without a
 * look at who uses it. A failure here is a decision to take: import an entry, or make the file one.
 */
import { posix } from 'node:path';
import test from 'ava';
import { importsOf, trackedFiles, type SourceFile } from './support/source/source-text.ts';

/** Folders of several files with few entries. Folders that are used file by file (a leaf, rows, commands) are none. */
const ENTRIES: Readonly<Record<string, readonly string[]>> = {
  'agent/access/sftp': ['command'],
  'agent/execution/journal': ['damage', 'journal', 'journal-schema', 'open-journal'],
  'agent/observability/doctor': ['admin-answers', 'command', 'doctor', 'reports'],
  'agent/observability/metrics/host': ['exporter', 'files', 'mounts', 'os-release'],
  'agent/vpn': ['interface-names', 'rotation', 'start-vpn', 'vpn'],
  'agent/vpn/names': ['names'],
  'api/console': ['counters', 'limits', 'open-console', 'ports', 'sessions'],
  'api/debug': ['elsewhere', 'open-debug'],
  'api/docs': ['guide/page', 'layout', 'routes'],
  'api/mcp': ['mount'],
  'api/metrics': ['admin-metrics', 'registry', 'request-times', 'sources'],
  'api/terminal': ['counters', 'messages', 'path', 'ports', 'sockets'],
  'api/trpc': ['mount', 'router', 'unread-bytes'],
  'persistence/backup': ['backup'],
  'persistence/embedded': ['encryption-key', 'failure', 'launcher', 'master-key'],
  'persistence/sweeps': ['forgotten', 'sweep-rows'],
  'supervisors/ownership': ['hand-over', 'held', 'lease-port', 'loop'],
  'supervisors/publishing': ['open-publishing'],
  'supervisors/runtime': ['asks', 'directory', 'domain-effects', 'inspection', 'kinds'],
  'supervisors/vpn': ['upkeep', 'watcher'],
  'transport/admins': ['open-admin-links', 'protocol/version'],
  'transport/diagnoses': ['diagnoses', 'ports'],
  'transport/events/brokers': ['adapters', 'settings'],
  'transport/events/webhooks': ['open-webhooks'],
  'transport/metrics': ['counters', 'histories', 'scrapes'],
  'transport/proxies': ['admission', 'client-proxies', 'ports', 'proxies'],
  'transport/releases': ['mirror', 'ports', 'repository/metadata', 'repository/trust'],
  'transport/sessions': ['agent-settings', 'gate', 'revocations', 'sessions'],
  'transport/terminals': ['ssh-sessions', 'terminals'],
  'transport/vpn/derp': ['client', 'home', 'protocol'],
  'transport/vpn/gateway': ['gateway', 'open-gateway'],
  'transport/vpn/member': ['create-member', 'member'],
  'transport/vpn/netmaker': ['netmaker'],
  'transport/vpn/observer': ['admin-observer'],
  'transport/vpn/relay': ['embedded', 'live-relays', 'map', 'open', 'url-admission'],
  'transport/vpn/relay-map': ['map', 'map-source'],
  'transport/vpn/wireguard': ['device', 'keys', 'limits', 'open', 'problem', 'programs', 'uapi'],
};

const isProduct = ({ path }: SourceFile): boolean =>
  /\.tsx?$/u.test(path) && !['test', 'bench', 'deploy'].includes(path.split('/')[0] ?? '');

/** Files of a folder that are imported from outside, in their order. */
function entriesOf(folder: string, files: readonly SourceFile[]): readonly string[] {
  const isInside = (path: string): boolean => path.startsWith(`${folder}/`);
  const targets = files
    .filter(({ path }) => !isInside(path))
    .flatMap(importsOf)
    .flatMap(({ target }) => (isInside(target) ? [posix.relative(folder, target).replace(/\.tsx?$/u, '')] : []));
  return [...new Set(targets)].toSorted();
}

test('of each folder others import its entries alone', (t) => {
  const files = trackedFiles().filter(isProduct);

  t.deepEqual(
    Object.fromEntries(Object.keys(ENTRIES).map((folder) => [folder, entriesOf(folder, files)])),
    ENTRIES as Record<string, readonly string[]>,
  );
});

test('the check sees who imports what', (t) => {
  const files = [
    { path: 'transport/vpn/member/member.ts', text: "import { a } from './own.ts';" },
    { path: 'agent/vpn/vpn.ts', text: "import { a } from '../../transport/vpn/member/member.ts';" },
    { path: 'main.ts', text: "const { b } = await import('./transport/vpn/member/late.ts');" },
  ];

  t.deepEqual(entriesOf('transport/vpn/member', files), ['late', 'member']);
});
