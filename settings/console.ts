/** Settings of the console, the pages below /console. */
import { flag } from './fields.ts';

/** Console. */
export const CONSOLE_SETTINGS = {
  CONSOLE_ENABLED: flag()
    .default(true)
    .describe('Whether this admin serves the console, at /console: pages that show the fleet, for whoever has a key.'),
  CONSOLE_INSECURE_HTTP: flag()
    .default(false)
    .describe(
      'Whether somebody may sign in to the console over plain HTTP from another machine. Whoever is between reads the key and the session; over HTTPS, or on the machine itself, it is not needed.',
    ),
};
