/** What a node is: its machine, its identity, its ports, and how it is reached from a terminal. */
import type { ComponentChildren } from 'preact';
import type { NodeResource } from '../../../actors/resources/node.ts';
import { Ago } from '../../parts/ago.tsx';
import { CopyLine } from '../../parts/elsewhere.tsx';
import { bytesOf } from '../../quantities.ts';
import { NODE } from '../../texts/node.ts';
import { linesOf } from './lines.ts';

/** Its identity. */
export function Identity({ node }: { readonly node: NodeResource }) {
  const { rows, title, kinds, on, off } = NODE.identity;
  return (
    <section aria-labelledby="identity">
      <h2 id="identity">{title}</h2>
      <dl class="facts">
        <Fact name={rows.cluster}>{node.cluster_name}</Fact>
        <Fact name={rows.version}>
          <bdi>{node.version}</bdi>
        </Fact>
        <Fact name={rows.id}>
          <code>{node.id}</code>
        </Fact>
        <Fact name={rows.vpn}>
          <code>{node.vpn_hostname}</code>
        </Fact>
        <Fact name={rows.kind}>{kinds[node.id_type]}</Fact>
        <Fact name={rows.update}>{node.self_update_enabled ? on : off}</Fact>
        <Fact name={rows.enrolled}>
          <Ago at={node.inserted_at} />
        </Fact>
      </dl>
    </section>
  );
}

/** Its machine, as the agent says. */
export function Machine({ node: { facts } }: { readonly node: NodeResource }) {
  const { rows, title, none, cpus } = NODE.about;
  return (
    <section aria-labelledby="machine">
      <h2 id="machine">{title}</h2>
      {facts === null ? (
        <p class="soft">{none}</p>
      ) : (
        <dl class="facts">
          <Fact name={rows.hostname}>{facts.hostname}</Fact>
          <Fact name={rows.system}>
            {facts.os_name ?? [facts.os, facts.os_version].filter((part) => part !== null).join(' ')}
          </Fact>
          <Fact name={rows.kernel}>{facts.kernel}</Fact>
          <Fact name={rows.arch}>{facts.arch}</Fact>
          <Fact name={rows.cpu}>{cpus(facts.cpu_count, facts.cpu_model)}</Fact>
          <Fact name={rows.memory}>{bytesOf(facts.memory_bytes)}</Fact>
          <Fact name={rows.virtualization}>{facts.virtualization}</Fact>
          <Fact name={rows.zone}>{facts.time_zone}</Fact>
          <Fact name={rows.hostKey}>{facts.ssh_host_key !== null && <code>{facts.ssh_host_key}</code>}</Fact>
        </dl>
      )}
    </section>
  );
}

/** Its ports. */
export function Ports({ node }: { readonly node: NodeResource }) {
  const { rows, title, lead } = NODE.ports;
  return (
    <section aria-labelledby="ports">
      <h2 id="ports">{title}</h2>
      <dl class="facts">
        {(Object.keys(rows) as (keyof typeof rows)[]).map((port) => (
          <Fact key={port} name={rows[port]}>
            <code>{node[port]}</code>
          </Fact>
        ))}
      </dl>
      <p class="soft">{lead}</p>
    </section>
  );
}

/** Lines to copy. */
export function Reach({ node, user }: { readonly node: NodeResource; readonly user: string | null }) {
  return (
    <section aria-labelledby="reach">
      <h2 id="reach">{NODE.reach.title}</h2>
      <dl class="lines">
        {linesOf(node, location.origin, user).map(({ name, text }) => (
          <div key={name}>
            <dt>{NODE.reach.names[name]}</dt>
            <dd>
              <CopyLine label={NODE.reach.names[name]} text={text} />
            </dd>
          </div>
        ))}
      </dl>
    </section>
  );
}

/** What is not known is left out. Whatever it is, it is a machine's own word. */
function Fact({ name, children }: { readonly name: string; readonly children: ComponentChildren }) {
  if (children === null || children === false) return null;
  return (
    <div>
      <dt>{name}</dt>
      <dd>
        <bdi>{children}</bdi>
      </dd>
    </div>
  );
}
