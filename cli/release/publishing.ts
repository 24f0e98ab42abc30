/** `edge release publish`, and what else publishes. */
import { tell } from '../output/output.ts';
import type { Session } from '../service/session.ts';
import { bytesText } from '../transfer/bytes.ts';
import { publishRepository, type Published } from './publish.ts';
import type { Repository } from './repository.ts';

/** Publishes, and says what was sent and what the channels are now. */
export async function publishHere(repository: Repository, { api, connection }: Session): Promise<Published> {
  const isShown = process.stderr.isTTY;
  const published = await publishRepository(repository, {
    api,
    connection,
    progress: (path, received, bytes) => {
      if (isShown)
        process.stderr.write(
          `\r${path.slice(0, 24)} ${bytesText(received)} of ${bytesText(bytes)}${received === bytes ? '\n' : ''}`,
        );
    },
  });
  const { files, bytes, releases } = published;
  const channels = releases.channels.map(({ channel, arch, version }) => `${channel} is ${version} for ${arch}`);
  tell(
    `published at ${connection.url}: ${files === 0 ? 'every file was there' : `${files} ${files === 1 ? 'file' : 'files'}, ${bytesText(bytes)}`}; ${channels.length === 0 ? 'no channel points to a release yet (edge release promote)' : channels.join(', ')}`,
  );
  return published;
}
