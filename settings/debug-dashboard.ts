/** Settings of the page that shows the inside of an admin. */
import type { Settings } from './environment.ts';
import { flag, secret, text } from './fields.ts';
import { isWeakKey } from './weak-keys.ts';

/** Debug dashboard. */
export const DEBUG_DASHBOARD_SETTINGS = {
  ADMIN_DEBUG_DASHBOARD_ENABLED: flag().default(false).describe('Whether /admin/debug shows the inside of this admin.'),
  ADMIN_DEBUG_AUTH_ENABLED: flag()
    .default(true)
    .describe('Whether it demands the user name and password below, by HTTP Basic.'),
  ADMIN_DEBUG_DASHBOARD_USERNAME: text({
    max: 64,
    pattern: /^[^:]+$/u,
    expected: 'at most 64 characters without a colon',
  })
    .default('admin')
    .describe('User name of the dashboard.'),
  ADMIN_DEBUG_DASHBOARD_PASSWORD: secret()
    .refine((password) => password.length >= 12 && password.length <= 128)
    .refine((password) => !isWeakKey(password), {
      params: { expected: 'one that nobody guesses, as made by: openssl rand -hex 16' },
    })
    .meta({ secret: true, expected: '12 to 128 characters' })
    .optional()
    .meta({ defaultText: 'none', description: 'Password of the dashboard.' }),
};

/** What no setting of the dashboard alone shows to be wrong. */
export function debugDashboardProblems(read: Settings<typeof DEBUG_DASHBOARD_SETTINGS>): readonly string[] {
  return read.ADMIN_DEBUG_DASHBOARD_ENABLED &&
    read.ADMIN_DEBUG_AUTH_ENABLED &&
    read.ADMIN_DEBUG_DASHBOARD_PASSWORD === undefined
    ? [
        'ADMIN_DEBUG_DASHBOARD_PASSWORD is not set: with ADMIN_DEBUG_DASHBOARD_ENABLED it should be 12 to 128 characters, or ADMIN_DEBUG_AUTH_ENABLED should be false',
      ]
    : [];
}
