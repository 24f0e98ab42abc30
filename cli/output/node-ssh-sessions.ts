/** Who is logged in to a node by SSH now, a connection a line. */
import type { Outputs } from '../service/client.ts';
import type { Table } from '../table/columns.ts';

type SshSession = Outputs['get_node_ssh_sessions']['sessions'][number];

/** As people see them. */
export const SSH_SESSION_TABLE: Table<SshSession> = {
  id: ({ username }) => username,
  columns: [
    ['USERNAME', 'username'],
    ['ACCOUNT', 'account', { drop: 3 }],
    ['SINCE', 'connected_at', { age: true }],
    ['FROM', 'client_address', { drop: 4 }],
    ['SHELLS', 'shells'],
    ['COMMANDS', 'commands'],
    ['FILES', 'file_transfers'],
    ['FORWARDED', 'forwarded_connections', { drop: 1 }],
    ['PORTS', 'forwarded_ports', { drop: 2 }],
    ['RECORDED', 'is_recorded'],
  ],
};
