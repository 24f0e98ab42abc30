/** Files of packages by what they are. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { SBOM_SUFFIX } from '../sbom.ts';
import type { PackedFile } from './contents.ts';

const FILES = fileURLToPath(new URL('files/', import.meta.url));
const UNITS = fileURLToPath(new URL('../systemd/', import.meta.url));

/** Something that is started. `file`: its name in files/. */
export function program(path: string, file: string): PackedFile {
  return { path, content: { file: join(FILES, file) }, mode: 0o755 };
}

/** Something that is read. */
export function text(path: string, file: string): PackedFile {
  return { path, content: { file: join(FILES, file) } };
}

/** What a package does besides being there, in its directory: `file` of files/, and what it sources. */
export function setup(directory: string, file: string): readonly PackedFile[] {
  return [program(`${directory}/setup`, file), text(`${directory}/services.sh`, 'services.sh')];
}

/** Settings, which may hold keys. */
export function configuration(path: string, file: string): PackedFile {
  return { path, content: { file: join(FILES, file) }, mode: 0o600, isConfiguration: true };
}

/** Units of systemd by their names. */
export function units(...names: readonly string[]): readonly PackedFile[] {
  return names
    .map((name) => ({ path: `lib/systemd/system/${name}.service`, content: { file: join(UNITS, `${name}.service`) } }))
    .filter(({ content }) => existsSync(content.file));
}

/** A document, compressed without a time in it. */
export function compressed(path: string, bytes: Uint8Array): PackedFile {
  return { path, content: { bytes: gzipSync(bytes, { level: 9 }) } };
}

/** The list of the parts of a package. */
export function sbomFile(name: string, list: string): PackedFile {
  return { path: `usr/share/doc/${name}/${name}${SBOM_SUFFIX}`, content: { text: list } };
}
