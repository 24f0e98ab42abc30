/** Who may log in to a node, asked before ssh is started: its own words would not say what to do. */
import type { Api } from '../service/client.ts';
import { EXIT, Problem } from '../problem.ts';

/** Usernames that are looked at; of more, ssh finds out. */
const USERNAMES_MAX = 100;

/** Options of ssh and scp that may lead elsewhere than to the agent's SSH server, where others decide who comes in. */
const LEADS_ELSEWHERE = /^-(?!o)[A-Za-z]*[pPFJW]|^(?:-o)?\s*(?:[Pp]ort|[Pp]roxy\w*|[Hh]ost[Nn]ame)\b/u;

/**
 * Rejects with a Problem when it is known that this login will fail: the SSH server does not work, and what listens at
 * its port may be another's; nobody may log in at all; or nobody of this name.
 * Null: the name is that of whoever calls, or what the configuration of ssh says.
 */
export async function checkLogin(
  api: Api,
  node: { readonly id: string; readonly name: string; readonly sshProblem: string | null },
  user: string | null,
  options: readonly string[],
): Promise<void> {
  if (options.some((word) => LEADS_ELSEWHERE.test(word))) return;
  if (node.sshProblem !== null)
    throw new Problem(`the SSH server of ${node.name} does not work (${node.sshProblem}): edge doctor ${node.name}`);
  const { data, pagination } = await api.list_ssh_usernames.query({
    node_id__in: [node.id],
    page_size: USERNAMES_MAX,
  });
  if (pagination.total_count === 0)
    throw new Problem(
      `nobody may log in to ${node.name} yet: edge sshuser add ${node.name} ${user ?? 'NAME'} -k @~/.ssh/id_ed25519.pub`,
      EXIT.notFound,
    );
  const isKnown =
    user === null || pagination.total_count > data.length || data.some(({ username }) => username === user);
  if (!isKnown)
    throw new Problem(
      `nobody named ${user} may log in to ${node.name}: edge sshuser add ${node.name} ${user} -k @~/.ssh/id_ed25519.pub`,
      EXIT.notFound,
    );
}
