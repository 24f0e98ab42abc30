import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import test from 'ava';
import packageFile from '../../package.json' with { type: 'json' };
import { ADMIN_SETTINGS } from '../../config.ts';

const PROGRAM = fileURLToPath(new URL('../../cli/edge-admin.ts', import.meta.url));

/** What `edge-admin` answers to arguments, with nothing in its environment but what is given. */
async function edgeAdmin(args: readonly string[], env: Record<string, string> = {}): Promise<{ status: number; stdout: string; stderr: string }> {
  return new Promise((resolve) => {
    execFile(process.execPath, [PROGRAM, ...args], { env }, (error, stdout, stderr) => {
      resolve({ status: error === null ? 0 : Number(error.code), stdout, stderr });
    });
  });
}

test('the version is the package\'s', async (t) => {
  t.deepEqual(await edgeAdmin(['--version']), { status: 0, stdout: `${packageFile.version}\n`, stderr: '' });
});

test('the help names every setting', async (t) => {
  const { status, stdout } = await edgeAdmin(['--help']);

  t.is(status, 0);
  t.deepEqual(Object.keys(ADMIN_SETTINGS).filter((name) => !stdout.includes(`  ${name} `)), []);
});

test('the settings can be had as Markdown, for the README', async (t) => {
  const { stdout } = await edgeAdmin(['settings', '--markdown']);

  t.is(stdout.trimEnd().split('\n').length, Object.keys(ADMIN_SETTINGS).length + 2);
});

test('bad settings are refused in a line each, with status 2, and no secret among them', async (t) => {
  const { status, stdout, stderr } = await edgeAdmin(['serve'], { MASTER_KEY: 'CANARY', ADMIN_API_PORT: 'https', DATABASE_URL: 'CANARY' });

  t.is(status, 2);
  t.is(stdout, '');
  t.is(stderr.trimEnd().split('\n').length, 3);
  t.true(stderr.trimEnd().split('\n').every((line) => line.startsWith('edge-admin: ')));
  t.notRegex(stderr, /CANARY/u);
});

for (const [args, complaint] of [[[], 'a command is missing'], [['sevre'], 'there is no command "sevre"'], [['serve', 'now'], 'unexpected argument "now"'], [['--hlep'], 'Unknown option']] as const) {
  test(`the arguments "${args.join(' ')}" are refused in one line, with status 2`, async (t) => {
    const { status, stderr } = await edgeAdmin(args);

    t.is(status, 2);
    t.regex(stderr, new RegExp(`^edge-admin: .*${complaint}.*\n$`, 'u'));
  });
}
