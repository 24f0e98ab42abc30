/** The root of releases that admins trust, forgotten by their operator: its keys are lost, or in wrong hands. */
import type { Log } from '../../transport/net/log.ts';
import { missingDatabase, withDatabase, type Storage } from '../connections/command-database.ts';

/** There is nothing to forget, or no database. `message` is one line for the operator. */
export class ForgetRefused extends Error {
  override readonly name = 'ForgetRefused';
}

/**
 * Deletes all signed metadata, roots too, in one transaction, while admins may run: they serve no release until the
 * next publish, whose first root they trust. Files stay for the day that a next publish has to name them. Answers what
 * to tell the operator; rejects with an error whose message is for him.
 */
export async function forgetReleases(storage: Storage, log: Log): Promise<string> {
  const problem = await missingDatabase(storage);
  if (problem !== null) throw new ForgetRefused(problem);
  const gone = await withDatabase(storage, log, async (client) => {
    await client.query('begin');
    await client.query('lock table release_metadata in share row exclusive mode');
    const { rows } = await client.query<{ version: number; id: string }>(
      `with gone as (delete from release_metadata returning role, version, content)
       select version, encode(sha256(convert_to(content, 'UTF8')), 'hex') as id from gone where role = 'root' order by version`,
    );
    await client.query(
      'update release_file set updated_at = now() where sha256 in (select sha256 from release_target)',
    );
    await client.query('delete from release_target');
    await client.query('commit');
    return rows;
  });
  const last = gone.at(-1);
  if (last === undefined)
    throw new ForgetRefused('No release was published at this service: there is no root to forget.');
  return `Forgot root ${last.version} (SHA-256 ${last.id}) and all that it signed. The next edge release publish says which root is trusted from now on. Machines that trust the old one refuse what the new one signs: uninstall them (install.sh --uninstall) and install them again, which leaves them the nodes that they are. Where packages brought the agent, remove /var/lib/edge-updater/trust, then: edge-updater bootstrap --root FILE`;
}
