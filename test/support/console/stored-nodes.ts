/** Nodes of the console's tests that are rows alone. */
import { CLUSTER, type Fleet } from '../fleet.ts';

/** Stores rows of machines that call themselves so, and are away. */
export async function storeNodes(fleet: Fleet, names: readonly string[]): Promise<void> {
  await fleet.sql(
    `with made as (
      insert into node (id, cluster_id, status, version, id_type, http_port, ssh_port, host_metrics_port, wireguard_metrics_port,
        http_proxy_port, socks5_proxy_port, self_update_enabled, token_hash, sealed_proxy_password, status_since, inserted_at, updated_at)
      select gen_random_uuid(), (select id from cluster where name = $1), 'unreachable', '1.0.0', 'persistent', 44000, 40022, 49100, 49586,
        43128, 41080, false, sha256(convert_to('token of ' || place, 'UTF8')), 'none', now(), now(), now()
      from unnest($2::text[]) with ordinality as given(name, place) returning id, token_hash),
    counted as (update cluster set node_count = node_count + cardinality($2::text[]) where name = $1)
    insert into node_facts (node_id, facts)
      select id, jsonb_build_object('hostname', name, 'os', 'debian', 'os_version', '12', 'os_name', null, 'kernel', '6.1', 'arch', 'x86_64',
        'cpu_model', null, 'cpu_count', 1, 'memory_bytes', 1073741824, 'virtualization', null, 'boot_id', null, 'time_zone', null, 'ssh_host_key', null)
      from unnest($2::text[]) with ordinality as given(name, place) join made on token_hash = sha256(convert_to('token of ' || place, 'UTF8'))`,
    [CLUSTER, names],
  );
}
