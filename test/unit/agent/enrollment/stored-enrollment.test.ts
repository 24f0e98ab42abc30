/** Which admins an agent dials after what admins told it of themselves, over its restarts. */
import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { newIdentity, readIdentity } from '../../../../agent/enrollment/identity.ts';
import type { Enrolled } from '../../../../agent/enrollment/joining.ts';
import { StoredEnrollment } from '../../../../agent/enrollment/stored-enrollment.ts';
import { CLOSE } from '../../../../transport/protocol/close-codes.ts';
import { NODE, SETTINGS, sessionFixture } from '../../../support/agent/session-fixture.ts';
import { silentLog } from '../../../support/log.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';

const OLD = 'http://edge.test';
const TYPO = 'http://egde.test';
const OWNER = 'http://admin-2.test';

const told = (...urls: string[]) => ({ ...SETTINGS, admin_urls: urls });

/** An agent that was enrolled at an admin of before, which told it of `listed`. */
function agentOf(t: ExecutionContext, listed: readonly string[]) {
  const path = join(temporaryDirectory(t), 'identity.json');
  const enrollment = {
    node_id: NODE,
    api_token: 't',
    proxy_password: 'p',
    cluster_name: 'c',
    admin_urls: [...listed],
    settings: told(...listed),
  };
  const identity = { ...newIdentity(NODE), enrollment };
  const started = (of: Enrolled) => {
    const stored = new StoredEnrollment(path, of, silentLog);
    const fixture = sessionFixture({
      adminUrls: () => stored.adminUrls,
      listedCount: () => stored.listedCount,
      onSettings: (settings, cluster, reachedBy) => stored.keep(settings, cluster, reachedBy),
    });
    /** The URLs of the next round through them, none of which answers. */
    const round = () => {
      const from = fixture.links.length;
      for (const _ of stored.adminUrls) {
        fixture.clock.pass(30_000);
        fixture.link().hangUp(1_006, 'not found');
      }
      return fixture.links.slice(from).map(({ url }) => url);
    };
    return { ...fixture, round };
  };
  const restarted = () => {
    const read = readIdentity(path);
    if (read?.enrollment == null) throw new Error('nothing was stored');
    return started({ ...read, enrollment: read.enrollment });
  };
  /** Which file it is: each is written anew. */
  const file = () => (existsSync(path) ? statSync(path).ino : null);
  return { ...started(identity), restarted, file };
}

test('an admin that tells agents of a wrong URL for one start loses none of them, also where they start anew', (t) => {
  const { link, round, restarted } = agentOf(t, [OLD]);
  link().welcome(told(TYPO));
  link().hangUp(CLOSE.shuttingDown);

  t.deepEqual(round(), [TYPO, OLD]);
  const later = restarted();
  later.link().hangUp(1_006);
  later.clock.pass(30_000);
  t.is(later.link().url, OLD);
  later.link().welcome(told(OLD));
  later.link().hangUp(1_006);
  t.deepEqual(later.round(), [OLD]);
});

test('an admin that was taken away is dialled no more once one that is named leads to an admin', (t) => {
  const { clock, link, round } = agentOf(t, [OLD]);
  link().welcome(told('http://new.test'));
  link().hangUp(1_006);
  clock.pass(30_000);

  link().hangUp(CLOSE.elsewhere, OWNER);
  clock.pass(30_000);
  link().welcome(told('http://new.test'));
  link().hangUp(1_006);

  t.deepEqual(round(), ['http://new.test']);
});

test('where an admin sends it on, it is the one that did so which leads back', (t) => {
  const { clock, link, round } = agentOf(t, [OLD]);
  link().hangUp(CLOSE.elsewhere, OWNER);
  clock.pass(30_000);
  t.is(link().url, OWNER);
  link().welcome(told(TYPO));
  link().hangUp(1_006);

  t.deepEqual(round(), [TYPO, OLD]);
});

test('a plain URL leads back from encrypted ones that lead nowhere', (t) => {
  const moved = agentOf(t, [OLD]);
  moved.link().welcome(told('https://edge.test'));
  moved.link().hangUp(CLOSE.shuttingDown);

  t.deepEqual(moved.round(), ['https://edge.test', OLD]);
});

test('by whichever of the listed URLs an admin is reached, the disk is left alone, and has it once it leaves the list', (t) => {
  const [one, other] = ['http://one.test', 'http://other.test'];
  const { clock, link, restarted, file } = agentOf(t, [one, other]);
  const next = () => {
    link().hangUp(1_006);
    clock.pass(1_000);
  };
  const welcomes = [one, other, one, other].map((url) => {
    while (link().url !== url) next();
    link().welcome(told(one, other));
    link().hangUp(1_006);
    clock.pass(1_000);
    return file();
  });
  while (link().url !== other) next();
  link().welcome(told(one, other));
  link().hear({ type: 'settings', settings: told(TYPO) });
  const later = restarted();
  later.link().hangUp(1_006);

  t.deepEqual(welcomes, [null, null, null, null]);
  t.deepEqual(later.round(), [other, TYPO]);
});

test('a URL that no admin names any more has twenty rounds to answer; then named admins may call the node unknown', (t) => {
  /** Ms from each of so many rounds to the next, where the admin that is named and the one of before end so. */
  const waits = (named: number, before: number, rounds = 3) => {
    const { clock, link, links } = agentOf(t, [OLD]);
    const next = () => {
      const [known, from] = [links.length, clock.nowMs()];
      while (links.length === known) clock.pass(500);
      return clock.nowMs() - from;
    };
    link().welcome(told(OWNER));
    link().hangUp(1_006);
    next();
    return Array.from({ length: rounds }, () => {
      t.is(link().url, OWNER);
      link().hangUp(named);
      next();
      t.is(link().url, OLD);
      link().hangUp(before);
      return next();
    });
  };

  t.deepEqual(waits(401, 1_006, 22), [...Array<number>(20).fill(500), 300_000, 300_000]);
  t.deepEqual(waits(401, 401), [1_500, 300_000, 300_000]);
  t.deepEqual(waits(1_006, 401), [500, 500, 500]);
});
