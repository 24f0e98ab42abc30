/** Outputs of executions that ended, as the console asks for them. */
import test from 'ava';
import { OutputQueue, PAGE_EXECUTIONS, QUESTIONS_MAX, SINGLES_MAX } from '../../../../console/run/output-queue.ts';

test('outputs are asked for by pages, some at a time; one that has no room by itself, and of many of these only some', async (t) => {
  const known = new Map<string, string>();
  let [underWay, most, singles] = [0, 0, 0];
  const all = Array.from({ length: 450 }, (_, index) => ({ id: `e${index}`, node_id: `n${index}` }));
  const over = Promise.withResolvers<void>();
  const queue = new OutputQueue({
    page: async (nodes) => {
      t.true(nodes.length <= PAGE_EXECUTIONS);
      underWay += 1;
      most = Math.max(most, underWay);
      await new Promise((resolve) => setTimeout(resolve, 1));
      underWay -= 1;
      return nodes
        .filter((node) => node !== 'n7')
        .map((node) => ({
          id: `e${node.slice(1)}`,
          output: Number(node.slice(1)) >= 400 ? null : `of ${node}`,
          output_truncated: false,
          output_withheld: Number(node.slice(1)) >= 400,
        }));
    },
    single: async (id) => {
      singles += 1;
      return { id, output: 'large', output_truncated: false, output_withheld: false };
    },
    known: (id, output) => {
      known.set(id, output === 'large' ? 'only when wanted' : output.text);
      if (known.size === all.length) over.resolve();
    },
  });

  for (const one of all) queue.want(one);
  await over.promise;

  t.is(most, QUESTIONS_MAX);
  t.is(singles, SINGLES_MAX);
  t.deepEqual(
    [known.get('e0'), known.get('e7'), known.get('e400'), known.get('e449')],
    ['of n0', '', 'large', 'only when wanted'],
  );
});

test('an output that could not be had is asked for again, and nobody is told after the end', async (t) => {
  let asked = 0;
  const told: string[] = [];
  const over = Promise.withResolvers<void>();
  const queue = new OutputQueue({
    page: async () => {
      asked += 1;
      if (asked === 1) throw new Error('the connection is lost');
      return [{ id: 'a', output: 'said', output_truncated: false, output_withheld: false }];
    },
    single: () => Promise.reject(new Error('nobody asks')),
    known: (id) => {
      told.push(id);
      over.resolve();
    },
  });

  queue.want({ id: 'a', node_id: 'n' });
  await over.promise;
  queue.want({ id: 'b', node_id: 'n' });
  queue.stop();
  await new Promise((resolve) => setTimeout(resolve, 60));

  t.deepEqual([asked, told], [2, ['a']]);
});
