/** Settings of self-updates: whether this machine takes part, and where its updater listens. */
import { flag, secret, url } from '../../settings/fields.ts';

/** Where edge-updater listens unless told otherwise, and Watchtower as it is usually published beside an agent. */
export const DEFAULT_UPDATER_URL = 'http://127.0.0.1:58080';

/** Name → schema, for `readSettings`; a part of the agent's. */
export const UPDATE_SETTINGS = {
  AGENT_SELF_UPDATE_ENABLED: flag()
    .default(false)
    .meta({ expected: 'true or false', description: 'Whether this machine takes part in managed self-updates.' }),
  AGENT_UPDATER_URL: url().default(DEFAULT_UPDATER_URL).meta({
    expected: 'a URL that starts with http:// or https://, without user name, password, query and fragment',
    description: 'Where the updater of this machine listens: edge-updater, or Watchtower beside a container.',
  }),
  AGENT_UPDATER_TOKEN: secret()
    .regex(/^[\u0021-\u007e]{1,512}$/u)
    .optional()
    .meta({
      secret: true,
      expected: '1 to 512 letters, digits and signs without spaces',
      description: 'Token with which the updater is asked. Without it self-updates are refused.',
    }),
} as const;
