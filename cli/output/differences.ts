/** How the outputs of nodes differ from what most of them said. */
import { diff } from 'node:util';
import { painted } from './colours.ts';
import { endedText, groupHeading, groupOutputs, type NodeOutput } from './grouping.ts';
import { plainOutput } from './plain-text.ts';

/** Lines of an output that are compared, and groups: comparing takes the square of the former. */
const LINES_MAX = 1_000;
const GROUPS_MAX = 100;

/** Lines around a difference. Source: diff -u. */
const CONTEXT_LINES = 3;

/** Where the text goes. */
export interface DifferenceOptions {
  /** To a terminal: without what it would obey. */
  readonly isPlain: boolean;
  readonly isColoured: boolean;
}

/**
 * The most frequent output whole, and of each other one what differs, as `diff -u` shows it. Outputs are told apart as
 * they are, and then shown as they may be.
 */
export function differenceText(outputs: readonly NodeOutput[], { isPlain, isColoured }: DifferenceOptions): string {
  const [common, ...others] = groupOutputs(outputs);
  if (common === undefined) return '';
  const shown = (output: string): string => (isPlain ? plainOutput(output, { colours: isColoured }) : output);
  const before = shown(common.output);
  const parts = [`${groupHeading(common.labels)}${endedText(before)}`];
  for (const { labels, output } of others.slice(0, GROUPS_MAX))
    parts.push(
      `${groupHeading(labels)}${before === shown(output) ? '(only what a terminal does not show differs)\n' : changes(before, shown(output), isColoured)}`,
    );
  for (const { labels } of others.slice(GROUPS_MAX))
    parts.push(`${groupHeading(labels)}(differs, and is not compared)\n`);
  return parts.join('');
}

/** What is gone (-) and what is new (+), with some lines around; a gap of lines that are the same is three dots. */
function changes(before: string, after: string, isColoured: boolean): string {
  const [old, now] = [linesOf(before), linesOf(after)];
  const entries = diff(now.slice(0, LINES_MAX), old.slice(0, LINES_MAX));
  const isNear = nearChanges(entries.map(([kind]) => kind !== 0));
  let text = '';
  let isSkipping = false;
  for (const [index, [kind, line]] of entries.entries()) {
    if (isNear[index] !== true) {
      if (!isSkipping) text += '...\n';
      isSkipping = true;
      continue;
    }
    isSkipping = false;
    const marked = `${kind === 0 ? ' ' : kind === 1 ? '+' : '-'}${line}`;
    text += `${isColoured && kind !== 0 ? painted(marked, kind === 1 ? 'good' : 'bad') : marked}\n`;
  }
  const isLong = old.length > LINES_MAX || now.length > LINES_MAX;
  if (!isLong && entries.every(([kind]) => kind === 0)) return '(only the end of the last line differs)\n';
  return isLong ? `${text}(the first ${LINES_MAX} lines were compared)\n` : text;
}

function nearChanges(isChanged: readonly boolean[]): readonly boolean[] {
  return isChanged.map((_one, index) =>
    isChanged.slice(Math.max(0, index - CONTEXT_LINES), index + CONTEXT_LINES + 1).includes(true),
  );
}

function linesOf(text: string): readonly string[] {
  return text === '' ? [] : endedText(text).slice(0, -1).split('\n');
}
