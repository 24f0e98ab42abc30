/**
 * Apache Kafka, from its jars at Maven Central: there is no package of it. Needs Java 17 and Maven, and no Kafka on the
 * machine.
 */
import { execFile } from 'node:child_process';
import { access, mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { peerCache, type Peer } from './peer.ts';

const run = promisify(execFile);

/** Which version. */
const POM_FILE = fileURLToPath(new URL('kafka.pom.xml', import.meta.url));

/** Where its jars are: a directory for the class path. Goes by the version in the pom. */
const DIRECTORY = peerCache('kafka-4.0.0');

/** The download of 45 jars, 40 MB, in ms. */
const DOWNLOAD_MS_MAX = 420_000;

/** Apache Kafka. Its path is the directory of its jars. */
export const kafkaPeer: Peer = {
  name: 'kafka',
  async found() {
    const [jars, java] = await Promise.all([
      access(DIRECTORY).then(
        () => true,
        () => false,
      ),
      onPath('java'),
    ]);
    return jars && java ? DIRECTORY : null;
  },
  async install() {
    if (!(await onPath('java'))) throw new Error('install Java 17 or later (package default-jre-headless)');
    if (!(await onPath('mvn'))) throw new Error('install Maven (package maven)');
    await mkdir(dirname(DIRECTORY), { recursive: true });
    const directory = await mkdtemp(`${DIRECTORY}-`);
    try {
      const words = [
        '--batch-mode',
        '--quiet',
        '--file',
        POM_FILE,
        'dependency:copy-dependencies',
        '-DincludeScope=runtime',
        `-DoutputDirectory=${directory}`,
      ];
      await run('mvn', words, { timeout: DOWNLOAD_MS_MAX }).catch((error: unknown) => {
        throw new Error(`Maven could not fetch Apache Kafka${firstError(error)}`, { cause: error });
      });
      await rename(directory, DIRECTORY);
    } finally {
      await rm(directory, { recursive: true, force: true });
    }
  },
};

async function onPath(command: string): Promise<boolean> {
  const paths = (process.env['PATH'] ?? '').split(':').map((directory) => join(directory, command));
  return Promise.any(paths.map((path) => access(path))).then(
    () => true,
    () => false,
  );
}

function firstError(error: unknown): string {
  const line = (error as { readonly stdout?: string }).stdout?.split('\n').find((one) => one.includes('[ERROR]'));
  return line === undefined ? '' : `: ${line.replace(/^.*\[ERROR\]\s*/u, '').slice(0, 200)}`;
}
