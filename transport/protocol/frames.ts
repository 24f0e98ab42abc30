/** Every control frame, as one zod discriminated union a direction. JSON text, one frame a message. */
import { z } from 'zod';
import { ExecutionResult } from './execution-result.ts';
import { ExecutionId, NodeId, Uuid } from './ids.ts';
import {
  COMMAND_TEXT_BYTES_MAX,
  EXECUTIONS_PER_FRAME_MAX,
  OUTPUT_PARTS_MAX,
  OUTPUT_PART_BYTES_MAX,
  SSH_GRANTS_MAX,
} from './limits.ts';
import {
  VPN_PEERS_MAX,
  VPN_TRY_IN_MS_MAX,
  VpnAdvertisement,
  VpnMembership,
  VpnReport,
  VpnRevision,
  ToldKey,
  ToldVpnPeer,
} from './vpn.ts';
import {
  SSH_UNANSWERED_PER_FRAME_MAX,
  SshCredential,
  SshGrant,
  SshUsernameTried,
  SshVerdict,
  UnansweredLogin,
} from './ssh.ts';
import { foreignText, wireText, wireUrl } from './text.ts';
import { Traceparent } from './trace-context.ts';
import { WireguardEndpoint, WireguardKey } from './wireguard.ts';
import { Registration, HealthReport } from './agent-description.ts';
import { AgentSettings } from './agent-settings.ts';
import { ToldFacts } from './facts.ts';
import { UpdateAnswer, UpdateOutcome } from './updates.ts';

const Executions = z.array(ExecutionId).max(EXECUTIONS_PER_FRAME_MAX);
/**
 * Rises by one with every frame of a direction, from 1, on each connection. A gap means a broken peer and ends the
 * session (4008).
 */
const seq = z.int().min(1);

/** agent → admin */
export const AgentFrame = z.discriminatedUnion('type', [
  /**
   * First frame. `holding` are all executions that the journal has and no confirm has ended: received, running or
   * finished.
   */
  z.object({
    seq,
    type: z.literal('hello'),
    protocol: z.int().min(1),
    node: NodeId,
    registration: Registration,
    report: HealthReport,
    holding: Executions,
  }),
  /** These are fsynced in the journal. */
  z.object({ seq, type: z.literal('acknowledge'), executions: Executions.min(1) }),
  /**
   * These have not started, and the agent does not know whether they still may: it stood still or started anew. `ask`
   * rises by one with each, on each connection.
   */
  z.object({ seq, type: z.literal('ask-open'), ask: z.int().min(1), executions: Executions.min(1) }),
  /**
   * One piece of an output too long for a result; `part` counts from 0. Sent one at a time, each waits for its
   * `part-stored`.
   */
  z.object({
    seq,
    type: z.literal('output-part'),
    execution: ExecutionId,
    part: z
      .int()
      .min(0)
      .max(OUTPUT_PARTS_MAX - 1),
    text: foreignText().max(OUTPUT_PART_BYTES_MAX),
  }),
  /** Repeated on every connection until confirmed. */
  z.object({ seq, type: z.literal('result'), results: z.array(ExecutionResult).min(1).max(EXECUTIONS_PER_FRAME_MAX) }),
  /** Live output for a tail, from byte `offset` of the (replaced-UTF-8) output. `end`: it is over, and this was all. */
  z.object({
    seq,
    type: z.literal('tail-output'),
    execution: ExecutionId,
    offset: z.int().min(0),
    text: foreignText().max(OUTPUT_PART_BYTES_MAX),
    end: z.boolean(),
  }),
  z.object({ seq, type: z.literal('report'), report: HealthReport }),
  z.object({ seq, type: z.literal('facts-changed'), facts: ToldFacts }),
  /** Somebody wants in by SSH. `attempt` is the agent's own number, which the verdict repeats. */
  z.object({
    seq,
    type: z.literal('verify-ssh'),
    attempt: z.int().min(1),
    username: SshUsernameTried,
    credential: SshCredential,
  }),
  /** After a welcome, when SSH sessions live: those whose user or key is gone meanwhile are ended. */
  z.object({ seq, type: z.literal('ssh-grants'), grants: z.array(SshGrant).min(1).max(SSH_GRANTS_MAX) }),
  /** After a welcome and with pings, until none is left: each is kept until `ssh-unanswered-stored` names it. */
  z.object({
    seq,
    type: z.literal('ssh-unanswered'),
    logins: z.array(UnansweredLogin).min(1).max(SSH_UNANSWERED_PER_FRAME_MAX),
  }),
  /**
   * What this member of the VPN is, after each welcome and whenever it changes. Another key than before is a rotation.
   */
  z.object({ seq, type: z.literal('mesh-advertise'), advertisement: VpnAdvertisement }),
  /** It wants a direct path to this peer: both are to try at once. */
  z.object({ seq, type: z.literal('mesh-try'), public_key: WireguardKey }),
  z.object({ seq, type: z.literal('mesh-report'), report: VpnReport }),
  z.object({ seq, type: z.literal('update-answer'), ...UpdateAnswer.shape }),
  /**
   * What came of an update that was accepted, where the updater says it. Repeated after each welcome until
   * `update-outcome-stored` names its request.
   */
  z.object({ seq, type: z.literal('update-outcome'), ...UpdateOutcome.shape }),
  z.object({ seq, type: z.literal('refresh-settings') }),
  z.object({ seq, type: z.literal('ping') }),
]);
export type AgentFrame = z.infer<typeof AgentFrame>;

/** One execution to run. `expires_in_ms` is a duration, because clocks of machines differ; null means never. */
export const Delivery = z.object({
  execution: ExecutionId,
  command_text: wireText().min(1).max(COMMAND_TEXT_BYTES_MAX),
  timeout_ms: z.int().min(1).nullable(),
  expires_in_ms: z.int().min(0).nullable(),
  /** Whose child its process is. Absent when nobody traces it, and for agents before version 3. */
  traceparent: Traceparent.optional(),
});
export type Delivery = z.infer<typeof Delivery>;

/** admin → agent */
export const AdminFrame = z.discriminatedUnion('type', [
  /** Answer to hello. The session is live from here. */
  z.object({
    seq,
    type: z.literal('welcome'),
    protocol: z.int().min(1),
    cluster_name: wireText(),
    settings: AgentSettings,
  }),
  /** Start these in this order, as concurrency allows. Known ids are acknowledged again and not started again. */
  z.object({ seq, type: z.literal('deliver'), deliveries: z.array(Delivery).min(1).max(EXECUTIONS_PER_FRAME_MAX) }),
  /** Their results are stored: the agent forgets them. */
  z.object({ seq, type: z.literal('confirm'), executions: Executions.min(1) }),
  z.object({
    seq,
    type: z.literal('part-stored'),
    execution: ExecutionId,
    part: z
      .int()
      .min(0)
      .max(OUTPUT_PARTS_MAX - 1),
  }),
  /**
   * Terminal at the admin (cancelled while pending, expired, dropped, unknown): end the process, send no result, forget
   * it.
   */
  z.object({ seq, type: z.literal('settle'), executions: Executions.min(1) }),
  /**
   * Sent before, as far as is known here, and not among what the hello said is held: a result for each, as it ended;
   * `cancelled` with 137 where that is not known.
   */
  z.object({ seq, type: z.literal('recall'), executions: Executions.min(1) }),
  /** End the process group; the result says `cancelled`. */
  z.object({ seq, type: z.literal('cancel'), executions: Executions.min(1) }),
  /**
   * Answer to the `ask-open` of that number: these may start, for so long from the asking on; null means without end.
   * The others are settled or cancelled.
   */
  z.object({
    seq,
    type: z.literal('still-open'),
    ask: z.int().min(1),
    executions: z
      .array(z.object({ execution: ExecutionId, expires_in_ms: z.int().min(0).nullable() }))
      .min(1)
      .max(EXECUTIONS_PER_FRAME_MAX),
  }),
  /** Stream this execution's output from byte `offset` until it ends or an `untail`. */
  z.object({ seq, type: z.literal('tail'), execution: ExecutionId, offset: z.int().min(0) }),
  z.object({ seq, type: z.literal('untail'), execution: ExecutionId }),
  z.object({ seq, type: z.literal('settings'), settings: AgentSettings }),
  /**
   * Open a tunnel to TUNNEL_PATH of an admin, with this one-time token; of this one unless another is named, or where
   * that one is not reached. First through the VPN, where there is a way. `http2`: that admin also takes
   * TUNNEL_UPGRADE, which costs both sides half as much as a WebSocket; none before it says so.
   */
  z.object({
    seq,
    type: z.literal('open-tunnel'),
    token: wireText().min(22).max(128),
    admin_url: wireUrl().max(2_048).optional(),
    mesh_url: wireUrl().max(2_048).optional(),
    http2: z.literal(true).optional(),
  }),
  z.object({ seq, type: z.literal('ssh-verdict'), attempt: z.int().min(1), verdict: SshVerdict }),
  /** These users and keys are gone: end the sessions that they opened, now (E5). */
  z.object({
    seq,
    type: z.literal('end-ssh'),
    ssh_username_ids: z.array(Uuid).max(SSH_GRANTS_MAX),
    ssh_public_key_ids: z.array(Uuid).max(SSH_GRANTS_MAX),
  }),
  /** The whole VPN, in place of whatever the agent knew of one. */
  z.object({
    seq,
    type: z.literal('mesh-network'),
    revision: VpnRevision,
    network: VpnMembership,
    peers: z.array(ToldVpnPeer).max(VPN_PEERS_MAX),
  }),
  /**
   * What changed from one state to the next. An agent that holds another state advertises itself again, with that one,
   * and gets what it misses.
   */
  z.object({
    seq,
    type: z.literal('mesh-changed'),
    from: VpnRevision,
    to: VpnRevision,
    set: z.array(ToldVpnPeer).max(VPN_PEERS_MAX),
    removed: z.array(ToldKey).max(VPN_PEERS_MAX),
  }),
  /** No VPN for this node, and why, in one sentence. */
  z.object({ seq, type: z.literal('mesh-refused'), reason: wireText().max(512) }),
  /**
   * Where the node's WireGuard socket is seen from outside; whether it is the same from everywhere, null while that is
   * not known.
   */
  z.object({ seq, type: z.literal('mesh-observed'), endpoint: WireguardEndpoint, is_stable: z.boolean().nullable() }),
  /** Where Netmaker coordinates the VPN: join it with `netclient` and this enrolment token, once. */
  z.object({
    seq,
    type: z.literal('netmaker-join'),
    network: wireText().min(1).max(32),
    token: wireText().min(1).max(8_192),
  }),
  /** Try a direct path to this peer in so many ms: it does the same then. */
  z.object({
    seq,
    type: z.literal('mesh-try'),
    public_key: WireguardKey,
    in_ms: z.int().min(0).max(VPN_TRY_IN_MS_MAX),
  }),
  /** That these were tried is stored: the agent forgets them. */
  z.object({
    seq,
    type: z.literal('ssh-unanswered-stored'),
    ids: z.array(Uuid).min(1).max(SSH_UNANSWERED_PER_FRAME_MAX),
  }),
  /**
   * Say hello again, as at the start of a connection: its node lives elsewhere in this admin now. What was said before
   * and not answered comes again; numbers go on.
   */
  z.object({ seq, type: z.literal('greet') }),
  /** The updater of this machine is to be told to fetch the newest release: once for each request. */
  z.object({ seq, type: z.literal('update'), request: Uuid }),
  /** What came of the update of this request is stored: the agent forgets it. */
  z.object({ seq, type: z.literal('update-outcome-stored'), request: Uuid }),
  z.object({ seq, type: z.literal('pong') }),
]);
export type AdminFrame = z.infer<typeof AdminFrame>;

type WithoutSeq<F> = F extends { seq: number } ? Omit<F, 'seq'> : never;
/** A frame before its connection numbers it. */
export type AgentFrameBody = WithoutSeq<AgentFrame>;
export type AdminFrameBody = WithoutSeq<AdminFrame>;
