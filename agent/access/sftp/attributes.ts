/** What a file is, on the wire: size, owner, permissions, times. */
import type { Stats } from 'node:fs';
import { ATTRIBUTE_FLAG } from './codes.ts';
import type { FieldReader, FieldWriter } from './wire.ts';

/** What a client wants a file to be. What is missing stays as it is. */
export interface WantedAttributes {
  /** In bytes. */
  readonly size?: number;
  readonly owner?: { readonly uid: number; readonly gid: number };
  /** The mode, with bits for the kind of file as the client sent them. */
  readonly permissions?: number;
  /** In seconds since 1970. */
  readonly times?: { readonly accessed: number; readonly modified: number };
}

const NUMBER_MAX = 0xffff_ffff;

/** Reads what a client wants. Vendors' own attributes are passed over, as the draft asks for. */
export function readAttributes(fields: FieldReader): WantedAttributes {
  const flags = fields.number();
  const wanted: { -readonly [name in keyof WantedAttributes]: WantedAttributes[name] } = {};
  if (flags & ATTRIBUTE_FLAG.size) wanted.size = fields.long();
  if (flags & ATTRIBUTE_FLAG.owner) wanted.owner = { uid: fields.number(), gid: fields.number() };
  if (flags & ATTRIBUTE_FLAG.permissions) wanted.permissions = fields.number();
  if (flags & ATTRIBUTE_FLAG.times) wanted.times = { accessed: fields.number(), modified: fields.number() };
  if (flags & ATTRIBUTE_FLAG.extended) {
    for (let left = fields.number(); left > 0; left -= 1) {
      fields.bytes();
      fields.bytes();
    }
  }
  return wanted;
}

/**
 * Writes all that is known of a file. Times before 1970 and after 2106, which the wire has no numbers for, become the
 * nearest.
 */
export function writeAttributes(answer: FieldWriter, stats: Stats): void {
  answer.number(ATTRIBUTE_FLAG.size | ATTRIBUTE_FLAG.owner | ATTRIBUTE_FLAG.permissions | ATTRIBUTE_FLAG.times);
  answer.long(stats.size);
  answer.number(stats.uid);
  answer.number(stats.gid);
  answer.number(stats.mode);
  answer.number(seconds(stats.atimeMs));
  answer.number(seconds(stats.mtimeMs));
}

/** Writes attributes that say nothing. */
export function writeNoAttributes(answer: FieldWriter): void {
  answer.number(0);
}

function seconds(timeMs: number): number {
  return Math.min(Math.max(Math.floor(timeMs / 1_000), 0), NUMBER_MAX);
}
