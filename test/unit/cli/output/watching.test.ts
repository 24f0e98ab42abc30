/** Frames on a terminal: how often, how wide, and only when there is room for one. */
import test from 'ava';
import { Screen } from '../../../../cli/output/screen.ts';
import { redrawing } from '../../../../cli/output/watching.ts';

test('however often something changes, it is drawn as often as a person can follow, and the last of it too', async (t) => {
  const end = new AbortController();
  const drawn: number[] = [];
  let changes = 0;
  const [first, second] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const redraw = redrawing(
    async () => {
      (drawn.push(changes) === 1 ? first : second).resolve();
    },
    end.signal,
    (error) => t.fail(String(error)),
  );
  t.teardown(() => end.abort());
  const change = (): void => {
    for (let times = 0; times < 1_000; times += 1) {
      changes += 1;
      redraw();
    }
  };

  change();
  await first.promise;
  change();
  await second.promise;

  t.deepEqual(drawn, [1_000, 2_000]);
});

test('what cannot be drawn is told to whoever watches, the first time and later', async (t) => {
  const end = new AbortController();
  t.teardown(() => end.abort());
  const problem = new Error('a row without its name');
  const failed = async (failsAt: number): Promise<unknown> =>
    new Promise((resolve) => {
      let drawn = 0;
      const redraw = redrawing(
        async () => {
          drawn += 1;
          if (drawn === failsAt) throw problem;
          redraw();
        },
        end.signal,
        resolve,
      );
      redraw();
    });

  t.deepEqual(await Promise.all([failed(1), failed(2)]), [problem, problem]);
});

test('the line below a frame is no wider than the terminal, which gets none before it took the last', (t) => {
  const written: string[] = [];
  const terminal = {
    columns: 20,
    rows: 24,
    writableNeedDrain: false,
    isTTY: true,
    write: (text: string) => written.push(text),
  };
  const screen = new Screen(terminal, { isColoured: false });

  screen.draw('a\n', 'a sentence that is longer than that');
  terminal.writableNeedDrain = true;
  screen.draw('b\n', 'c');
  screen.end();

  t.deepEqual(written, [
    '\u001B[?25l\u001B[2J\u001B[Ha\u001B[K\na sentence that is…\u001B[K\n\u001B[J',
    '\r\u001B[K\u001B[?25h',
  ]);
});
