/** Manual pages: what the programs say of themselves, as troff. */
import { execFileSync } from 'node:child_process';
import { gzipSync } from 'node:zlib';
import packageFile from '../../package.json' with { type: 'json' };
import type { PackedFile } from './contents.ts';

/** Columns of the help on a terminal that manual pages are read on. */
const COLUMNS = 80;

/** The page of a program, from its help. `file` is started with `--help`. */
export function manualOf(name: string, section: 1 | 8, summary: string, file: string): PackedFile {
  const help = execFileSync(process.execPath, [file, '--help'], {
    encoding: 'utf8',
    env: { PATH: process.env['PATH'], COLUMNS: String(COLUMNS) },
  });
  const page = `.TH ${name.toUpperCase()} ${section} "" "edge-fleet-control ${packageFile.version}"
.SH NAME
${name} \\- ${escaped(summary)}
.SH DESCRIPTION
.nf
${escaped(help.trim())}
.fi
`;
  return {
    path: `usr/share/man/man${section}/${name}.${section}.gz`,
    content: { bytes: gzipSync(page, { level: 9 }) },
  };
}

/** Text as troff prints it: a dot or an apostrophe begins a request, and a minus is no hyphen. */
function escaped(text: string): string {
  return text
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replaceAll(/^(?=[.'])/gmu, '\\&');
}
