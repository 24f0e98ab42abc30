/** Labels and facts of simulated nodes, put straight into the database: ten labels each. */
import type { Client } from 'pg';

/** Gives every node ten labels, one of them its own, and facts as an agent would say them. */
export async function insertLabels(client: Client): Promise<void> {
  await client.query(`
    update node_labels l set labels = jsonb_build_object(
      'env', (array['prod', 'staging', 'dev'])[1 + v.i % 3], 'tier', (array['web', 'db', 'cache', 'queue', 'batch'])[1 + (v.i / 3) % 5],
      'zone', (array['a', 'b', 'c', 'd', 'e'])[1 + (v.i / 7) % 5], 'rack', 'r' || v.i % 400, 'asset', 'asset-' || v.i,
      'team', (array['core', 'edge', 'data', 'ml'])[1 + (v.i / 11) % 4], 'app.kubernetes.io/name', (array['nginx', 'redis', 'postgres'])[1 + (v.i / 13) % 3],
      'site', 'site-' || v.i % 50, 'model', 'm' || v.i % 20, case when v.i % 20 = 0 then 'gpu' else 'cpu' end, '')
    from (select id, row_number() over (order by id) - 1 as i from node) v where v.id = l.node_id`);
  await client.query(`
    insert into node_facts (node_id, facts) select id, jsonb_build_object('hostname', 'host-' || i, 'os', 'debian', 'os_version', '13',
      'os_name', 'Debian GNU/Linux 13 (trixie)', 'kernel', '6.12.48+deb13-amd64', 'arch', 'x86_64', 'cpu_model', 'Intel(R) N100', 'cpu_count', 4,
      'memory_bytes', 8124899328, 'virtualization', 'kvm', 'boot_id', id, 'time_zone', 'Europe/Berlin')
    from (select id, row_number() over (order by id) - 1 as i from node) v`);
  await client.query('vacuum analyze');
}
