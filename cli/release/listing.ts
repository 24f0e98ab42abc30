/** `edge release ls`. */
import type { Command as Program } from 'commander';
import { tell, write } from '../output/output.ts';
import type { Session } from '../service/session.ts';
import { formatOf, isForPeople } from '../table/format.ts';
import type { Table } from '../table/columns.ts';
import { plainView, rowsText } from '../table/text.ts';
import { bytesText } from '../transfer/bytes.ts';
import type { Repository } from './repository.ts';

interface Row {
  readonly version: string;
  readonly arch: string;
  readonly released_at: string;
  readonly bytes: number;
  readonly channels: readonly string[];
  readonly is_stored: boolean;
}

const TABLE: Table<Row> = {
  id: ({ version }) => version,
  columns: [
    ['VERSION', 'version'],
    ['ARCH', 'arch'],
    ['CHANNELS', ({ channels }) => channels.join(', ')],
    ['RELEASED', 'released_at', { age: true }],
    ['SIZE', ({ bytes }) => bytesText(bytes)],
    ['FILES', ({ is_stored: stored }) => (stored ? 'here' : 'deleted'), { drop: 1 }],
  ],
};

/** What the service has. */
export async function listAtService({ api, format, view }: Session): Promise<void> {
  const {
    releases,
    channels,
    metadata,
    expires_at: expiresAt,
    expires_first: first,
  } = await api.get_releases.query({});
  const rows = releases.map((release) => ({
    ...release,
    channels: channels
      .filter(({ version, arch }) => version === release.version && arch === release.arch)
      .map(({ channel, allow_downgrade: back }) => (back ? `${channel} (going back)` : channel)),
  }));
  await write(rowsText(rows, TABLE, view()));
  if (!isForPeople(format)) return;
  tell(metadata === null ? 'nothing is published: edge release init does all of it' : until(first, expiresAt));
}

/** What a directory has, whether or not it is signed. */
export async function listHere(repository: Repository, command: Program): Promise<void> {
  const { output } = command.optsWithGlobals<{ readonly output?: string }>();
  repository.state(); // throws where there is no repository, before a table is shown
  const channels = repository.described('channel');
  const rows = repository.described('release').map(({ name, arch, description }) => ({
    version: name,
    arch,
    released_at: description.released_at,
    bytes: description.files.reduce((sum, { packed_bytes: bytes }) => sum + bytes, 0),
    channels: channels.filter((one) => one.arch === arch && one.description.version === name).map((one) => one.name),
    is_stored: true,
  }));
  const format = formatOf(output ?? 'table');
  await write(rowsText(rows, TABLE, plainView(format)));
  if (!isForPeople(format)) return;
  const signed = repository.signed();
  if (signed === null) return tell('not signed yet: edge release sign');
  tell(until(signed.expiresFirst, new Date(signed.expiresAtMs).toISOString()));
}

function until(first: string | null, at: string | null): string {
  return `machines take this until ${at?.slice(0, 16).replace('T', ' ') ?? 'never'} UTC, when ${first ?? 'nothing'}.json runs out: edge release sign before`;
}
