import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { CHECK_MS_MAX } from '../../../../../agent/observability/doctor/check.ts';
import { updaterCheck, type UpdaterSources } from '../../../../../agent/observability/doctor/updater.ts';
import { UPDATER_TOKEN, UpdaterDouble, type UpdaterReplies } from '../../../../support/agent/updater-double.ts';
import { freePort } from '../../../../support/net/free-ports.ts';
import { silentPort } from '../../../../support/net/listening.ts';
import { temporaryDirectory } from '../../../../support/temporary-directory.ts';
import { until } from '../../../../support/until.ts';

const never = new AbortController().signal;

/** So long an updater is asked, in ms. Source: agent/observability/doctor/updater.ts. */
const ASK_MS_MAX = (CHECK_MS_MAX - 500) / 2;

/** What the check finds at an updater that answers so. */
async function found(t: ExecutionContext, replies: UpdaterReplies, more: Partial<UpdaterSources> = {}) {
  const updater = await UpdaterDouble.start(t, replies);
  const pinPath = join(temporaryDirectory(t), 'update-pinned');
  const check = updaterCheck({ isEnabled: true, url: updater.url, token: UPDATER_TOKEN, pinPath, ...more });
  // one that took so long that an answer may have come too late is no look
  const look = () =>
    until('a look in time', async () => {
      const beganMs = performance.now();
      const finding = await check.look(never);
      return performance.now() - beganMs < ASK_MS_MAX && finding;
    });
  return { check, asks: updater.asks, pinPath, look };
}

/** edge-updater, as it answers after an update. */
function ours(outcome: unknown = null): UpdaterReplies {
  return { '/v1/outcome': () => ({ status: 200, body: outcome ?? 'null' }) };
}

test('switched off, no updater is needed and none is asked', async (t) => {
  const { look, asks } = await found(t, ours(), { isEnabled: false });
  const finding = await look();

  t.like(finding, { status: 'pass', details: { is_enabled: false } });
  t.regex(finding.summary, /switched off/u);
  t.deepEqual(asks, []);
});

test('without a token it says which setting is missing', async (t) => {
  const { look } = await found(t, ours(), { token: undefined });
  const finding = await look();

  t.is(finding.status, 'warn');
  t.regex(finding.summary, /AGENT_UPDATER_TOKEN is not set/u);
});

test('ours answers, and its token is tried without an update being begun', async (t) => {
  const { look, asks } = await found(t, ours());
  const finding = await look();

  t.like(finding, { status: 'pass', summary: 'edge-updater answers, and takes the token.' });
  t.like(finding.details, { product: 'edge-updater', last_outcome: null, is_pinned: false });
  t.deepEqual(
    new Set(asks.map(({ method, path, authorization }) => `${method} ${path} ${authorization}`)),
    new Set([`GET /v1/outcome Bearer ${UPDATER_TOKEN}`]),
  );
});

test('an update that was taken back is a warning with its reason', async (t) => {
  const { look } = await found(
    t,
    ours({ request: null, outcome: 'rolled_back', from: '0.1.0', to: '0.2.0', error: 'it crashes\n' }),
  );
  const finding = await look();

  t.is(finding.status, 'warn');
  t.is(finding.summary, 'The last update, from 0.1.0 to 0.2.0, was taken back: it crashes.');
  t.like(finding.details, { last_outcome: 'rolled_back', to: '0.2.0' });
});

test('an update that could not be done is a warning with its reason, one that had nothing to do is none', async (t) => {
  const unchanged = { request: null, outcome: 'unchanged', from: '0.1.0', to: '' };
  const failed = await (await found(t, ours({ ...unchanged, error: 'http://a answered 404' }))).look();
  const newest = await (await found(t, ours({ ...unchanged, error: null }))).look();

  t.is(failed.status, 'warn');
  t.is(failed.summary, 'The last update could not be done, and nothing was changed: http://a answered 404.');
  t.is(newest.status, 'pass');
});

for (const [name, replies, status, summary] of [
  ['a wrong token of ours', { '/v1/outcome': () => ({ status: 401 }) }, 'warn', /refuses the token \(401\)/u],
  ['a wrong token of Watchtower', { '/v1/check': () => ({ status: 401 }) }, 'warn', /refuses the token \(401\)/u],
  ['Watchtower', { '/v1/check': () => ({ status: 200, body: {} }) }, 'pass', /^Watchtower answers/u],
  ['Watchtower without its checks', {}, 'pass', /says nothing of itself/u],
  ['one that fails', { '/v1/outcome': () => ({ status: 500 }) }, 'warn', /failed \(500\)/u],
] as const satisfies readonly (readonly [string, UpdaterReplies, string, RegExp])[]) {
  test(`${name} is told apart`, async (t) => {
    const { look } = await found(t, replies);
    const finding = await look();

    t.is(finding.status, status);
    t.regex(finding.summary, summary);
    t.false(JSON.stringify(finding).includes(UPDATER_TOKEN));
  });
}

test('where nothing listens, and where nothing answers, it says so within its time', async (t) => {
  const { look } = await found(t, {}, { url: `http://127.0.0.1:${await freePort()}` });
  const { check } = await found(t, {}, { url: `http://127.0.0.1:${await silentPort(t)}` });
  const [none, silent] = [await look(), await check.look(never)];

  t.deepEqual([none.status, silent.status], ['warn', 'warn']);
  t.regex(none.summary, /^No updater listens at http.*: install edge-updater, or set AGENT_UPDATER_URL/u);
  t.regex(silent.summary, /cannot be asked: did not answer within 1\.3 s\.$/u);
});

test('a machine that is pinned is warned of', async (t) => {
  const { look, pinPath } = await found(t, ours());
  writeFileSync(pinPath, '');

  const finding = await look();

  t.like(finding, { status: 'warn', details: { is_pinned: true } });
  t.true(finding.hint?.includes(pinPath));
});
