/** A session whose admin has gone silent, so that it asks another one beside. */
import type { AgentSettings } from '../../../transport/protocol/agent-settings.ts';
import type { AdminFrameBody } from '../../../transport/protocol/frames.ts';
import { PROTOCOL_VERSION } from '../../../transport/protocol/version.ts';
import { SETTINGS, sessionFixture, type FakeLink } from './session-fixture.ts';

/** Of an admin that knows others. */
export const PEERED: AgentSettings = { ...SETTINGS, ping_ms: 3_300, suspect_after_ms: 3_000 };

/** Admins of such a session; the first one is silent. */
export const A = 'http://a.test';
/** The second one. */
export const B = 'http://b.test';
/** The third one, if it is named. */
export const C = 'http://c.test';

/** A session that was live with the first of these admins, and has not heard it for so long that it doubts. */
export function doubting(
  urls: readonly string[] = [A, B],
  settings = PEERED,
  more: Parameters<typeof sessionFixture>[0] = {},
) {
  const fixture = sessionFixture({ adminUrls: () => urls, ...more }, () => 0);
  welcome(fixture.link(), settings);
  fixture.clock.pass(1_650 + 3_000); // the phase of the first ping, and the doubt
  return fixture;
}

/** The connection opens, and the admin takes the node. */
export function welcome(link: FakeLink, settings = PEERED): void {
  link.open();
  link.hear(welcomeFrame(settings));
}

/** What an admin of today answers to a hello. */
export function welcomeFrame(settings = PEERED): AdminFrameBody {
  return { type: 'welcome', protocol: PROTOCOL_VERSION, cluster_name: 'c', settings };
}

/** How often a frame of this type was sent on a connection. */
export function count(link: FakeLink, type: string): number {
  return link.types().filter((one) => one === type).length;
}
