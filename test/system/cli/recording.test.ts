/** Recordings by the command line: in pipes and in a real terminal. */
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import type { SshRecordingResource } from '../../../actors/resources/ssh.ts';
import type { CastEvent } from '../../../api/client/asciicast.ts';
import { readCast } from '../../../cli/recordings/cast.ts';
import { createModeTracker } from '../../../cli/recordings/modes.ts';
import { playCast, type PlayOptions } from '../../../cli/recordings/player.ts';
import { castOf, descriptionOf, upload, type CastEvent as Line } from '../../support/ssh/casts.ts';
import { enrollRaw } from '../../support/fleet/raw-agent.ts';
import { sharedFleet } from '../../support/shared-fleet.ts';
import { until } from '../../support/until.ts';
import { isCrowded, scaled } from '../../support/busy.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { edgeOf, inTerminal } from './fixture.ts';

const fleet = sharedFleet(test, {});

const edge = edgeOf(fleet);
const data = (t: ExecutionContext, ...args: string[]) => edge.data(t, ['recording', ...args]);
const recording = (...args: string[]) => edge.run(['recording', ...args]);

/** A node, and how it brings recordings. */
async function fixture(t: ExecutionContext) {
  const { node_id: node, api_token: token } = await enrollRaw(t, fleet());
  const bring = async (cast: string, told: Parameters<typeof descriptionOf>[0] = {}) =>
    (await upload(fleet().admin().url, token, { cast, description: descriptionOf(told) })).id;
  return { node, bring };
}

test.serial('recordings are listed by node and user, shown, saved and removed', async (t) => {
  const { node, bring } = await fixture(t);
  const cast = castOf([[0.1, 'o', 'saved']]);
  const shell = await bring(cast, { duration_ms: 65_432 });
  const command = await bring(castOf(), { username: 'eve', command: 'tail\u001B-f log', truncated: true });
  const directory = temporaryDirectory(t);
  const file = join(directory, 'session.cast');

  const lines = (await data(t, 'ls', '--node', node)).trimEnd().split('\n');
  t.deepEqual(
    lines.map((line, index) => line.split(/ {2,}/u).slice(index === 0 ? 0 : 2)),
    [
      ['ID', 'STARTED', 'SECONDS', 'USER', 'NODE', 'BYTES', 'COMMAND'],
      ['1.5+', 'eve', node.slice(0, 8), String(castOf().length), 'tail -f log'],
      ['65.4', 'ada', node.slice(0, 8), String(cast.length), '(shell)'],
    ],
  );
  t.is(await data(t, 'ls', '-q', '--node', node), `${command}\n${shell}\n`);
  t.deepEqual(
    (JSON.parse(await data(t, 'list', '-n', node, '-u', 'eve', '-o', 'json')) as SshRecordingResource[]).map(
      ({ id }) => id,
    ),
    [command],
  );
  const shown = JSON.parse(await data(t, 'show', shell, '-o', 'json')) as object;
  t.like(shown, { id: shell, username: 'ada' });
  t.false('cast' in shown);

  await data(t, 'save', shell, file);
  t.is(readFileSync(file, 'utf8'), cast);
  t.is(statSync(file).mode & 0o777, 0o600);
  const again = await recording('save', command, file);
  t.deepEqual([again.status, again.stderr], [2, `edge: ${file} is there already: --force replaces it\n`]);
  await data(t, 'save', command, file, '--force');
  t.is(readFileSync(file, 'utf8'), castOf());
  t.is(await data(t, 'save', shell, '-'), cast);

  await data(t, 'rm', shell, command);
  t.is((await recording('show', shell)).status, 4);
  t.is((await recording('play', 'no-id')).status, 4);
  t.is((await recording('play', shell, '--speed', '0')).status, 2);
});

test.serial('where stdout is no terminal, all that was shown comes at once and as it was', async (t) => {
  const { bring } = await fixture(t);
  const id = await bring(
    castOf([
      [0, 'o', '\u001B[31mgrü'],
      [0, 'i', 'typed'],
      [3_600, 'o', 'ße\u001B[0m\r\n'],
      [3_601, 'm', 'marker'],
      [7_200, 'r', '10x10'],
      [9_000, 'o', '\u001B[?1049h'],
    ]),
  );

  const { status, stdout, stderr } = await recording('play', id);

  t.deepEqual([status, stdout, stderr], [0, '\u001B[31mgrüße\u001B[0m\r\n\u001B[?1049h', '']);
});

test.serial('in a terminal it plays with its timing, and what it left switched is switched back', async (t) => {
  const { bring } = await fixture(t);
  const id = await bring(
    castOf([
      [0, 'o', 'begin\u001B[?1049h\u001B[?25l'],
      [1, 'o', 'middle'],
      [3_600, 'o', 'end'],
    ]),
  );
  const terminal = inTerminal(t, `recording play ${id} --speed 2 --max-idle 1s`, edge.env());

  await until('its beginning', () => terminal.shown().includes('begin'));
  const beganMs = performance.now();
  await until('its middle', () => terminal.shown().includes('middle'));
  const middleMs = performance.now() - beganMs;
  await until('its end', () => terminal.shown().includes('end'));
  const endMs = performance.now() - beganMs;
  terminal.type('\u001B[0n');

  t.is(await terminal.ended, 0);
  // where the beginning was seen late, the rest seems to come early
  t.true((isCrowded() || middleMs > 300) && middleMs < scaled(900), `${middleMs} ms to the middle`);
  t.true((isCrowded() || endMs > 800) && endMs < scaled(2_000), `${endMs} ms to the end`);
  t.true(
    terminal.shown().includes('end\u0018\u001B\\\u001B[0m\u000F\u001B(B\u001B[?1049l\u001B[?25h\u001B[5n'),
    JSON.stringify(terminal.shown()),
  );
  t.false(terminal.shown().includes('[0n'), 'what the terminal answers is not shown');
  const [before, after] = terminal.settings();
  t.is(after, before);
});

test.serial('Ctrl-C and q end it within a wait, and leave the terminal as it was', async (t) => {
  const { bring } = await fixture(t);
  const id = await bring(
    castOf([
      [0, 'o', 'begin\u001B[?2004h'],
      [3_600, 'o', 'never'],
    ]),
  );
  for (const [key, status] of [
    ['\u0003', 130],
    ['q', 0],
  ] as const) {
    const terminal = inTerminal(t, `recording play ${id}`, edge.env());
    await until('its beginning', () => terminal.shown().includes('begin'));

    terminal.type(key === '\u0003' ? `typed by mistake${key}` : key);
    const ended = await terminal.ended;

    t.is(ended, status);
    t.false(terminal.shown().includes('never'));
    t.false(terminal.shown().includes('mistake'));
    t.true(terminal.shown().includes('\u001B[?2004l'));
    const [before, after] = terminal.settings();
    t.is(after, before);
  }
});

test.serial('a smaller terminal is told of, and one may be asked to take the sizes', async (t) => {
  const { bring } = await fixture(t);
  const id = await bring(
    castOf(
      [
        [0, 'o', 'one'],
        [0, 'r', '90x20'],
        [0, 'o', 'two'],
      ],
      { width: 132, height: 43 },
    ),
  );
  const told = inTerminal(t, `recording play ${id} --instant`, edge.env());
  const asked = inTerminal(t, `recording play ${id} --instant --resize`, edge.env());

  t.deepEqual(await Promise.all([told.ended, asked.ended]), [0, 0]);
  t.true(told.shown().includes('edge: it was recorded at 132x43, and this terminal has 80x24: it may look wrong'));
  t.true(told.shown().includes('onetwo'));
  t.true(asked.shown().includes('\u001B[8;43;132tone\u001B[8;20;90ttwo'));
});

/** Plays on a stage that takes no time but that of the waits. */
async function played(
  lines: readonly Line[],
  options: Partial<PlayOptions> = {},
): Promise<readonly (readonly [number, string])[]> {
  let nowMs = 0;
  const shown: (readonly [number, string])[] = [];
  await playCast(
    readCast(castOf(lines)),
    { speed: 1, maxIdleMs: Number.POSITIVE_INFINITY, stop: new AbortController().signal, ...options },
    {
      write: async (text) => {
        shown.push([nowMs, text]);
        nowMs += 7;
        return Promise.resolve();
      },
      resize: async () => Promise.resolve(),
      nowMs: () => nowMs,
      wait: async (ms) => {
        nowMs += ms;
        return Promise.resolve();
      },
    },
  );
  return shown;
}

test('waits are as recorded, cut to the longest idle time, then divided by the speed; lateness does not add up', async (t) => {
  const lines: Line[] = [
    [0, 'o', 'a'],
    [0.1, 'o', 'b'],
    [0.2, 'o', 'c'],
    [10.2, 'o', 'd'],
    [10.1, 'o', 'e'],
    [10.3, 'o', 'f'],
  ];

  t.deepEqual(await played(lines), [
    [0, 'a'],
    [100, 'b'],
    [200, 'c'],
    [10_200, 'de'],
    [10_300, 'f'],
  ]);
  t.deepEqual(await played(lines, { speed: 2, maxIdleMs: 1_000 }), [
    [0, 'a'],
    [50, 'b'],
    [100, 'c'],
    [600, 'de'],
    [650, 'f'],
  ]);
  t.deepEqual(await played(lines, { speed: null }), [[0, 'abcdef']]);
});

test('of a recording only what was shown is read; what is no event is left out, and another format is refused', (t) => {
  const read = (text: string): readonly CastEvent[] => [...readCast(text).events()];

  t.deepEqual(
    read(
      `${castOf([
        [1, 'o', 'a'],
        [0.5, 'r', '90x20'],
        [2, 'i', 'x'],
        [2, 'r', '-1x2'],
      ])}[]\n{}\n[1]\n["1","o","x"]\n[3,"o",4]\n[4,"o","b"]\n[5,"o","cu`,
    ),
    [
      { atMs: 1_000, type: 'output', text: 'a' },
      { atMs: 1_000, type: 'resize', size: { columns: 90, rows: 20 } },
      { atMs: 4_000, type: 'output', text: 'b' },
    ],
  );
  t.deepEqual(readCast('{"version":2,"width":0,"height":"x"}').size, { columns: 80, rows: 24 });
  for (const text of ['', 'x', '[]', '{"version":1}', '{"version":3,"term":{"cols":80}}'])
    t.throws(() => readCast(text), { message: 'the recording is no asciicast of version 2' });
});

test('modes are switched back that were left switched, wherever the pieces were cut, and no others', (t) => {
  const restored = (...pieces: string[]): string => {
    const modes = createModeTracker();
    for (const piece of pieces) modes.saw(piece);
    return modes.restoring().replace('\u0018\u001B\\\u001B[0m\u000F\u001B(B', '');
  };

  t.is(restored('plain', '\u001B[31m\u001B[2J'), '');
  t.is(restored('\u001B[?1049h\u001B[?1;25l', '\u001B[?1049l\u001B[?25h'), '');
  t.is(restored('\u001B[?1000;1006h\u001B[?25l'), '\u001B[?1000l\u001B[?1006l\u001B[?25h');
  t.is(restored(...Array.from('a\u001B[?1049hb\u001B[?7lc')), '\u001B[?1049l\u001B[?7h');
  t.is(
    restored('\u001B=\u001B[2;10r\u001B[>4;2m\u001B[>1u\u001B[>1u\u001B[<u'),
    '\u001B7\u001B[r\u001B8\u001B>\u001B[>4m\u001B[<u',
  );
  t.is(restored('\u001B=\u001B[2;10r\u001B[>4;2m', '\u001B>\u001B[r\u001B[>4m'), '');
});
