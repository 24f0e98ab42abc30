/** Limits of the console. */
import * as sessions from '../../api/console/limits.ts';
import { limits, type Limit } from './limit.ts';

/** Of one theme of the page. */
export const CONSOLE_LIMITS: readonly (readonly Limit[])[] = [
  limits('api/console/limits.ts', sessions, [
    ['SESSION_IDLE_MS_MAX', 'A session of the console that nobody uses is over after this.'],
    ['SESSION_AGE_MS_MAX', 'It is over after this, however much it is used.'],
    ['SESSIONS_MAX', 'Sessions that there are; at one more, that which was longest unused is over.'],
    ['SESSION_LOOK_MS', 'Pages whose session is over are looked for this often, and cut.'],
    ['SIGN_IN_BODY_BYTES_MAX', 'Largest body with which somebody signs in; above it 413.'],
  ]),
];
