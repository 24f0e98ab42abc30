/** Finds the fields of log calls in source text. */
import type { SourceFile } from './source-text.ts';

/** A field of a line, and where the call stands. */
export interface LogField {
  readonly name: string;
  readonly line: number;
}

const CALL = /(?<![\w$])#?log(?:\??\.(?:debug|info|warn|error)|\[[^\]]+\])\(/gu;

/** The names of all fields that log calls of this file give literally; what is spread from elsewhere is not seen. */
export function fieldsOfLogCalls({ text }: SourceFile): LogField[] {
  return [...text.matchAll(CALL)].flatMap((match) => {
    const start = match.index + match[0].length;
    const line = text.slice(0, match.index).split('\n').length;
    const [fields = ''] = parts(inside(text, start));
    return !fields.startsWith('{') ? [] : namesIn(fields).map((name) => ({ name, line }));
  });
}

/** Names of an object literal, and of those that are spread into it on a condition. */
function namesIn(literal: string): string[] {
  return parts(literal.slice(1, -1)).flatMap((part) => {
    const spread = /^\.\.\.\(.*?&&\s*(\{.*\})\)$/su.exec(part)?.[1];
    if (spread !== undefined) return namesIn(spread);
    const name = /^(\w+)\s*(?::|$)/u.exec(part)?.[1];
    return name === undefined ? [] : [name];
  });
}

/** The text up to the bracket that closes what is open at `start`. */
function inside(text: string, start: number): string {
  let depth = 1;
  let at = start;
  walk(text, start, (character, index) => {
    if ('({['.includes(character)) depth += 1;
    if (')}]'.includes(character)) depth -= 1;
    at = index;
    return depth > 0;
  });
  return text.slice(start, at);
}

/** What stands between the commas of this level. */
function parts(text: string): string[] {
  const found: string[] = [];
  let depth = 0;
  let from = 0;
  walk(text, 0, (character, index) => {
    if ('({['.includes(character)) depth += 1;
    if (')}]'.includes(character)) depth -= 1;
    if (character === ',' && depth === 0) {
      found.push(text.slice(from, index).trim());
      from = index + 1;
    }
    return true;
  });
  return [...found, text.slice(from).trim()].filter((part) => part !== '');
}

/** Every character outside of quotes, until the visitor says no. */
function walk(text: string, start: number, visit: (character: string, index: number) => boolean): void {
  let quote: string | null = null;
  for (let index = start; index < text.length; index += 1) {
    const character = text[index] ?? '';
    if (quote !== null) {
      if (character === '\\') index += 1;
      else if (character === quote) quote = null;
    } else if (`'"\``.includes(character)) quote = character;
    else if (!visit(character, index)) return;
  }
}
