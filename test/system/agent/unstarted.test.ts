/**
 * A start that was recorded and that the disk had no room for: nothing came of it, so it is taken back, and what ran is
 * never taken for it (C3).
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { aliveMs } from '../../../transport/net/uptime.ts';
import { Fixture } from '../../support/agent/executor-fixture.ts';
import { fill, smallDisk } from '../../support/small-disk.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

test.serial(
  'a disk that fills between a script and its start lock has the execution wait, which runs once there is room',
  async (t) => {
    const disk = smallDisk(t, 4_096);
    if (disk === null) {
      t.pass('not tried: this user cannot mount a disk');
      return;
    }
    const ran = join(temporaryDirectory(t), 'ran');
    const held = Promise.withResolvers<void>();
    const fixture = new Fixture(t, { onHeld: held.resolve }, disk);
    const { journal, executor } = fixture;
    const receive = journal.receive.bind(journal);
    let free = () => {};
    journal.receive = (...given) => {
      const received = receive(...given); // its start is recorded, its script is written
      free = fill(disk);
      return received;
    };
    let output = '';
    const execution = fixture.start(`echo ran >>${ran}; echo out`);
    const cursor = executor.tail(execution, 0, () => {});

    await held.promise;
    t.deepEqual([journal.waiting(), journal.started(), [...executor.held().keys()]], [[execution], [], [execution]]);
    t.deepEqual([existsSync(ran), readdirSync(join(disk, 'keepers'))], [false, []]);
    t.false(cursor?.ended, 'who follows its output waits as well');
    free();
    executor.release([{ execution, expiresInMs: null }], aliveMs());

    t.like(await fixture.result(execution), { outcome: 'completed', exitCode: 0, output: 'out\n' });
    for (let piece = cursor?.read(100); piece != null; piece = cursor?.read(100)) output += piece.text;
    t.is(output, 'out\n');
    t.is(readFileSync(ran, 'utf8'), 'ran\n');
  },
);

for (const [how, rest, told] of [
  ['kills its group as its exec shim would end itself', 'kill -s VTALRM 0', { outcome: 'completed', exitCode: 154 }],
  [
    'empties its start lock, and whose exec shim is killed',
    ': >"${0%/*}/../claim"; kill -s KILL 0',
    { outcome: 'completed', exitCode: 137 },
  ],
  [
    'empties its start lock, and whose status is lost',
    ': >"${0%/*}/../claim"; mkdir "${0%/*}/../status"; rm "${0%/*}/../claim"',
    { outcome: 'cancelled', exitCode: 137 },
  ],
] as const)
  test.serial(`a script that ${how} has started, and is not started again`, async (t) => {
    const fixture = new Fixture(t);
    const ran = join(fixture.directory, 'ran');

    const result = await fixture.run(`echo ran >>${ran}; ${rest}`);

    t.like(result, told);
    t.deepEqual([fixture.journal.waiting(), readFileSync(ran, 'utf8')], [[], 'ran\n']);
  });
