/**
 * Lines of ours in a text file that others own, between two marks that name the node, so that each agent of a machine
 * has a block of its own. Pure. Texts are latin1: every byte of others survives as it is.
 */

/** What is put into a file. */
export interface OwnBlock {
  readonly node: string;
  /** Without line ends. None: there is no block. */
  readonly lines: readonly string[];
  /** Where a new block goes. One that is there stays where it is. */
  readonly place: 'first' | 'last';
  /** Whether a line could be of such a block: how far a block goes whose end was lost when the machine went down. */
  readonly isOwn: (line: string) => boolean;
}

/** At the end of the first mark, where the last line before the block had no line end. */
const UNENDED = ' (after a line without end)';

/** The first mark of any agent's block. */
const ANY_BEGIN = /^# BEGIN edge-agent \S+/u;

/** Where a block is: from its first mark to behind its last line. */
interface Place {
  readonly start: number;
  readonly end: number;
  /** The line end before it is ours. */
  readonly isUnended: boolean;
}

/**
 * The text with exactly this block in it, whatever was left of earlier ones. The same text when nothing is to be done.
 */
export function withBlock(text: string, block: OwnBlock): string {
  const { node, lines, place } = block;
  if (lines.length === 0) return withoutBlock(text, block);
  const found = placeOf(text, block);
  if (found !== null) {
    const before = text.slice(0, found.start);
    const after = withoutBlock(text.slice(found.end), block); // a second one is of a file that somebody put together
    return before + written(node, lines, found.isUnended) + after;
  }
  if (place === 'first') return written(node, lines, false) + text;
  const isUnended = text !== '' && !text.endsWith('\n');
  return text + (isUnended ? '\n' : '') + written(node, lines, isUnended);
}

/** The text as it was before `withBlock`, with what others changed since. */
export function withoutBlock(text: string, block: Pick<OwnBlock, 'node' | 'isOwn'>): string {
  const found = placeOf(text, block);
  if (found === null) return text;
  const before = text.slice(0, found.start);
  const after = text.slice(found.end);
  if (!found.isUnended) return withoutBlock(before + after, block);
  if (after === '') return withoutBlock(before.slice(0, -1), block);
  // Another agent's block stands behind: from now on that one knows of the line end.
  const heir = ANY_BEGIN.exec(after)?.[0];
  return withoutBlock(
    before +
      (heir === undefined || after.startsWith(heir + UNENDED) ? after : heir + UNENDED + after.slice(heir.length)),
    block,
  );
}

function written(node: string, lines: readonly string[], isUnended: boolean): string {
  return `${beginOf(node)}${isUnended ? UNENDED : ''}\n${lines.map((line) => `${line}\n`).join('')}${endOf(node)}\n`;
}

function beginOf(node: string): string {
  return `# BEGIN edge-agent ${node}`;
}

function endOf(node: string): string {
  return `# END edge-agent ${node}`;
}

function placeOf(text: string, { node, isOwn }: Pick<OwnBlock, 'node' | 'isOwn'>): Place | null {
  let start = text.startsWith(beginOf(node)) ? 0 : text.indexOf(`\n${beginOf(node)}`) + 1;
  if (start === 0 && !text.startsWith(beginOf(node))) return null;
  for (;;) {
    const first = lineAt(text, start);
    const mark = first.line.slice(beginOf(node).length);
    if (mark === '' || mark === UNENDED)
      return { start, end: endAt(text, first.next, node, isOwn), isUnended: mark === UNENDED };
    start = text.indexOf(`\n${beginOf(node)}`, start) + 1; // another node, whose id begins alike
    if (start === 0) return null;
  }
}

/** Behind the last mark; without one, behind the last line that can only be ours. */
function endAt(text: string, from: number, node: string, isOwn: OwnBlock['isOwn']): number {
  for (let at = from; at < text.length;) {
    const { line, next } = lineAt(text, at);
    if (line === endOf(node)) return next;
    if (!isOwn(line)) return at;
    at = next;
  }
  return text.length;
}

/** A line without its end, which an editor may have made CRLF. */
function lineAt(text: string, start: number): { readonly line: string; readonly next: number } {
  const end = text.indexOf('\n', start);
  const line = text.slice(start, end === -1 ? text.length : end).replace(/\r$/u, '');
  return { line, next: end === -1 ? text.length : end + 1 };
}
