/**
 * What does not work of an admin's own that only this admin can tell: the checks say it here, and its row to all
 * admins.
 */
import type { AdminProblem } from '../../actors/resources/peer-admin.ts';
import type { HealthPorts, RelayState } from './ports.ts';

/** A certificate that ends sooner is told of, in ms: half of what certbot and most other clients of ACME leave. */
export const CERTIFICATE_LEFT_MS_MIN = 1_209_600_000;
const DAY_MS = 86_400_000;

/** What is said of a broker that is down. */
export const BROKER_PROBLEM = 'the broker cannot be reached or refuses';

/** What is wrong with a relay, and what is worth knowing while it works; null: there is none, and none is missed. */
export interface JudgedRelay {
  readonly problem: string | null;
  readonly notes: readonly string[];
}

/** Sentences without hosts and addresses. */
export function judgedRelay({ own, isMapMissing }: RelayState): JudgedRelay | null {
  const map = isMapMissing ? ['no URL of the relay map gives one here'] : [];
  if (own === null) return map.length === 0 ? null : { problem: null, notes: map };
  if (!own.isListening) return { problem: 'the relay does not listen', notes: map };
  return {
    problem: null,
    notes: [...certificateNotes(own.certificateLeftMs), ...(own.isMapped ? [] : [NOT_MAPPED]), ...map],
  };
}

const NOT_MAPPED = 'the map of relays does not name this one: agents do not find it';

/** Null: it is known by its SHA-256, whatever its time. */
function certificateNotes(leftMs: number | null): readonly string[] {
  if (leftMs === null || leftMs > CERTIFICATE_LEFT_MS_MIN) return [];
  return [
    leftMs <= 0
      ? 'the certificate of the relay has expired: members that check it do not come in'
      : `the certificate of the relay expires in ${Math.floor(leftMs / DAY_MS)} days: the relay takes up another one when this admin starts`,
  ];
}

/** What its row tells, under the names of the checks. Nothing is asked of anybody. */
export function ownProblems({ broker, relay }: Pick<HealthPorts, 'broker' | 'relay'>): readonly AdminProblem[] {
  const judged = judgedRelay(relay());
  const ofRelay = judged === null ? [] : [judged.problem, ...judged.notes].filter((one) => one !== null);
  return [
    ...(broker === null || broker.isReached() ? [] : [{ check: 'event_broker', problem: BROKER_PROBLEM }]),
    ...(ofRelay.length === 0 ? [] : [{ check: 'relay', problem: ofRelay.join('; ') }]),
  ];
}
