/** An admin's part in an installation, without the admin: the script, and files that are what a test says. */
import { createHash } from 'node:crypto';
import { createServer } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { once } from 'node:events';
import { gzipSync } from 'node:zlib';
import { readPieces } from '../../../api/install/pieces.ts';
import { installScript, type InstallFile, type InstallRelease } from '../../../api/install/script.ts';
import type { Scope } from '../scope.ts';

const TARGETS = 'releases/targets/files';
const ROOT_PATH = 'releases/metadata/1.root.json';

/** How it is other than a good one. */
export interface MirrorOptions {
  /** Programs by their names; those of a release that starts nothing unless given. */
  readonly programs?: Readonly<Record<string, string>>;
  /** Each has programs of its own where there are several. */
  readonly archs?: readonly string[];
  /** What it sends instead of what it said. */
  readonly sends?: (path: string, good: Buffer) => Buffer | null;
  readonly tls?: { readonly cert: string; readonly key: string };
  /** What is said of each file, changed. */
  readonly told?: (file: InstallFile) => InstallFile;
}

/** A running mirror. */
export interface Mirror {
  readonly url: string;
  /** The script as it serves it. */
  readonly script: string;
  /** Paths that were asked for. */
  readonly asked: string[];
  readonly files: readonly InstallFile[];
}

/** Programs of a release that runs nothing: shell scripts in place of Node. */
export const IDLE_PROGRAMS: Readonly<Record<string, string>> = {
  node: '#!/bin/sh\necho v24.0.0\n',
  'edge-agent.cjs': '',
  'edge-updater.cjs': '',
};

/** Starts one that ends with the scope. */
export async function startMirror(scope: Scope, options: MirrorOptions = {}): Promise<Mirror> {
  const {
    programs = IDLE_PROGRAMS,
    archs = ['linux-x64'],
    sends = (_, good) => good,
    tls,
    told = (file) => file,
  } = options;
  const served = new Map<string, Buffer>([[ROOT_PATH, Buffer.from('{}')]]);
  const fileOf = (arch: string, name: string, program: string): InstallFile => {
    const text = archs.length === 1 ? program : `${program}# ${arch}\n`;
    const packed = gzipSync(text);
    const path = `${TARGETS}/${sha256(Buffer.from(text))}.gz`;
    served.set(path, packed);
    return told({
      channel: 'stable',
      arch,
      version: '0.2.0',
      name,
      sha256: sha256(Buffer.from(text)),
      bytes: Buffer.byteLength(text),
      packedSha256: sha256(packed),
      packedBytes: packed.length,
      path,
    });
  };
  const files = archs.flatMap((arch) => Object.entries(programs).map(([name, text]) => fileOf(arch, name, text)));
  const root = sha256(Buffer.from('{}'));
  const release: InstallRelease = { root: { path: ROOT_PATH, sha256: root }, chain: [root], files };
  const asked: string[] = [];
  let script = '';
  const server = tls === undefined ? createServer() : createTlsServer(tls);
  server.on('request', (request: { readonly url?: string }, response) => {
    const path = (request.url ?? '').slice(1);
    asked.push(path);
    const good = path === 'install.sh' ? Buffer.from(script) : served.get(path);
    const sent = good === undefined ? null : sends(path, good);
    if (sent === null) response.writeHead(404).end();
    else response.end(sent);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  scope.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = `${tls === undefined ? 'http' : 'https'}://127.0.0.1:${(server.address() as AddressInfo).port}`;
  script = installScript(readPieces(), { adminUrls: [url], release });
  return { url, script, asked, files };
}

function sha256(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}
