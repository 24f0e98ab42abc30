/** The script that makes a machine a node, put together of its pieces and of what this admin knows. */
import { CARRIED_FILES, FRAME, partPath } from './pieces.ts';

/** A file that the script downloads, packed by gzip. */
export interface InstallFile {
  readonly channel: string;
  /** As in the paths of releases: linux-x64, linux-arm64. */
  readonly arch: string;
  readonly version: string;
  readonly name: string;
  readonly sha256: string;
  readonly bytes: number;
  readonly packedSha256: string;
  readonly packedBytes: number;
  /** Below the URL of an admin, without a slash before it. */
  readonly path: string;
}

/** What this admin serves: all machines trust the root that they are given here, and nothing else, from then on. */
export interface InstallRelease {
  readonly root: { readonly path: string; readonly sha256: string };
  /** SHA-256 of that root and those before it: who trusts one of them comes to trust it. */
  readonly chain: readonly string[];
  readonly files: readonly InstallFile[];
}

/** What an admin puts into the script. Without a release it installs nothing, and says so. */
export interface ScriptFacts {
  readonly adminUrls: readonly string[];
  readonly release: InstallRelease | null;
}

const SHA256 = /^[\da-f]{64}$/u;

/** Words of the list of files: they are split at spaces by a shell. */
const WORD = /^[\w.+-]{1,128}$/u;
const PATH = /^[\w.+/-]{1,512}$/u;

/** URLs that mean themselves between single quotes of a shell, and are split at spaces. */
const PLAIN_URL = /^https?:\/\/[\w.:/~%@[\]-]+$/u;

/**
 * The script. What is told by others, such as the names of channels, is left out where it could mean something to a
 * shell. Throws where a piece is missing.
 */
export function installScript(pieces: Readonly<Record<string, string>>, facts: ScriptFacts): string {
  const piece = (path: string): string => {
    const text = pieces[path];
    if (text === undefined) throw new Error(`the piece ${path} of the installation is missing`);
    return text;
  };
  return piece(partPath(FRAME)).replaceAll(/^#@(?<what>\w+) ?(?<name>[\w.-]*)$/gmu, (_, what: string, name: string) => {
    if (what === 'include') return piece(partPath(name)).trimEnd();
    return what === 'facts' ? factsText(facts) : carriedText(piece);
  });
}

function factsText({ adminUrls, release }: ScriptFacts): string {
  const files = release?.files.filter(isPlain).map(fileLine) ?? [];
  const root =
    release !== null && PATH.test(release.root.path) && SHA256.test(release.root.sha256) ? release.root : null;
  return [
    '# What the admin that serves this knows.',
    `ADMIN_URLS='${plainUrls(adminUrls).join(' ')}'`,
    `ROOT_PATH='${root?.path ?? ''}'`,
    `ROOT_SHA256='${root?.sha256 ?? ''}'`,
    '# That root and those before it: a machine that trusts one of them comes to trust it.',
    `ROOT_CHAIN='${root === null ? '' : (release?.chain.filter((sha256) => SHA256.test(sha256)).join(' ') ?? '')}'`,
    '# One file a line: channel, architecture, version, name, SHA-256 and bytes, the same packed, path.',
    `RELEASE_FILES='${root === null ? '' : files.join('\n')}'`,
  ].join('\n');
}

function isPlain(file: InstallFile): boolean {
  return (
    [file.channel, file.arch, file.version, file.name].every((word) => WORD.test(word)) &&
    SHA256.test(file.sha256) &&
    SHA256.test(file.packedSha256) &&
    PATH.test(file.path)
  );
}

function fileLine(file: InstallFile): string {
  const { channel, arch, version, name, sha256, bytes, packedSha256, packedBytes, path } = file;
  return [channel, arch, version, name, sha256, bytes, packedSha256, packedBytes, path].join(' ');
}

/** Those of these URLs that need no quoting anywhere, without slashes behind them. */
export function plainUrls(urls: readonly string[]): readonly string[] {
  return urls.filter((url) => PLAIN_URL.test(url)).map((url) => url.replace(/\/+$/u, ''));
}

/** A function for each file that the script writes. */
function carriedText(piece: (path: string) => string): string {
  return Object.entries(CARRIED_FILES)
    .map(([name, path]) => `file_${name}() {\n  cat <<'${END}'\n${piece(path).trimEnd()}\n${END}\n}`)
    .join('\n\n');
}

/** Ends a file within the script: no line of one is this. */
const END = 'END_OF_THE_FILE';
