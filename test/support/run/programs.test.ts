import { execFile } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import test from 'ava';
import packageFile from '../../../package.json' with { type: 'json' };
import {
  compileCache,
  makePrograms,
  programFile,
  PROGRAMS_VARIABLE,
  withSourcePlaces,
  type ProgramName,
} from './programs.ts';

const run = promisify(execFile);

// In a whole run there is one already.
test.beforeEach(() => {
  delete process.env[PROGRAMS_VARIABLE];
});

const NAMES: readonly ProgramName[] = ['edge', 'edge-admin', 'edge-agent'];

test.serial('without a bundle tests start the plain sources, which have the cache of everybody', (t) => {
  for (const name of NAMES)
    t.true(programFile(name).endsWith(`/cli/${name}.ts`) && existsSync(programFile(name)), name);
  t.is(compileCache([programFile('edge')]).NODE_COMPILE_CACHE, process.env['NODE_COMPILE_CACHE']);
  t.is(withSourcePlaces('at /x/programs/edge.js:1:2'), 'at /x/programs/edge.js:1:2');
});

test.serial(
  'a bundle has each program, its stack traces name places in the sources, and it goes when it is removed',
  async (t) => {
    const made = await makePrograms();
    process.env[PROGRAMS_VARIABLE] = made.directory;

    for (const name of NAMES) {
      const file = programFile(name);
      t.true(file.startsWith(made.directory), file);
      t.is((await run(process.execPath, [file, '--version'])).stdout, `${packageFile.version}\n`);
    }
    t.deepEqual(compileCache(['ip', programFile('edge-agent'), 'up']), {
      NODE_COMPILE_CACHE: join(made.directory, 'code'),
    });

    // A throw in the middle of its start, so that the stack goes through it.
    const breaker = join(made.directory, 'breaker.cjs');
    writeFileSync(
      breaker,
      'process.getBuiltinModule("node:v8").setFlagsFromString = () => { console.error(new Error("broken").stack); process.exit(3); };',
    );
    const { stderr } = await t.throwsAsync<Error & { readonly stderr: string }>(
      run(process.execPath, ['--require', breaker, programFile('edge-agent'), 'up'], {
        env: { AGENT_DATA_DIR: made.directory },
      }),
    );
    t.regex(withSourcePlaces(stderr), /at run\d* \(cli\/edge-agent\.ts:\d+:\d+\)/u, stderr);

    await made.remove();
    t.false(existsSync(made.directory));
  },
);
