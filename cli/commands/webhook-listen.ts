/** `edge webhook listen`. */
import { InvalidArgumentError, type Command as Program } from 'commander';
import { isLoopbackHost } from '../../transport/net/addresses.ts';
import { words } from '../arguments.ts';
import { endingWithReader } from '../until-interrupted.ts';
import { eventHeadings, eventText, nodeOf } from '../output/event-text.ts';
import { eventTypesOf } from '../names/event-types.ts';
import { NodeNames } from '../output/outputs.ts';
import { isReaderGone, tell, writeForReader } from '../output/output.ts';
import { EXIT, Problem } from '../problem.ts';
import { sessionOf } from '../service/session.ts';
import { isForPeople } from '../table/format.ts';
import { startReceiver } from '../webhook-receiver/receiver.ts';
import { addSecretOptions, givenSecret, newSecret, type SecretFlags } from '../webhook-receiver/secret.ts';
import { createVerify } from '../../api/client/webhooks.ts';
import { subscribe } from '../webhook-receiver/subscription.ts';

interface ListenFlags extends SecretFlags {
  readonly on?: readonly string[];
  readonly host: string;
  readonly port: number;
  readonly publicUrl?: string;
  readonly status: number;
  readonly json?: boolean;
}

const HELP = `
Examples:
  edge webhook listen --on all                               tries it all out, with a webhook that goes when this ends
  edge webhook listen --port 8080 --secret-file secret       for a webhook that is there already
  edge webhook listen --on edge.core.test --status 500       sees deliveries tried again
  edge webhook listen --on all --json | jq .data

Every path is taken. Requests without both signatures are answered with 401 and the reason.`;

/** Addresses that stand for all of a machine: nobody can send there. */
const WILDCARDS: readonly string[] = ['0.0.0.0', '::'];

/** A receiver that verifies what arrives and shows it. */
export function addListenCommand(webhook: Program): void {
  addSecretOptions(
    webhook
      .command('listen')
      .description('receive deliveries on this machine, verify both signatures and show the events, until Ctrl-C'),
  )
    .option(
      '--on <types>',
      'create a webhook for these types, or all, that sends here, and delete it at the end',
      words,
    )
    .option('--host <address>', 'address to listen on', '127.0.0.1')
    .option('--port <port>', 'port to listen on; 0 is a free one', port, 0)
    .option('--public-url <url>', 'with --on: where the service reaches this receiver, when not at its own address')
    .option('--status <status>', 'what a delivery is answered with', status, 204)
    .option('--json', 'events as JSON, one a line; as -o ndjson')
    .addHelpText('after', HELP)
    .action(listen);
}

async function listen(flags: ListenFlags, command: Program): Promise<void> {
  const { api, connection, format } = sessionOf(command);
  const secret = givenSecret(flags) ?? (flags.on === undefined ? missingSecret() : newSecret());
  if (flags.publicUrl === undefined && flags.on !== undefined && WILDCARDS.includes(flags.host))
    throw new Problem(
      `nobody can send to ${flags.host}: say with --public-url where this receiver is reached, or give --host an address`,
      EXIT.usage,
    );
  const types = flags.on === undefined ? null : await eventTypesOf(api, flags.on);

  const shownFormat = flags.json === true ? 'ndjson' : format;
  const names = new NodeNames(api);
  const { asked } = endingWithReader(); // a webhook is still to be deleted then
  const receiver = await startReceiver({
    host: flags.host,
    port: flags.port,
    status: flags.status,
    verify: createVerify(secret),
    received: async (event) => {
      const name = await names.of(isForPeople(shownFormat) ? [nodeOf(event) ?? []].flat() : []);
      await writeForReader(eventText(event, shownFormat, name)); // it counts as received when that is done
    },
    refused: tell,
  });
  try {
    const webhook =
      types === null
        ? null
        : await subscribe(api, { url: flags.publicUrl ?? receiver.url, secret, types, service: connection, say: tell });
    tell(
      webhook === null
        ? `listening on ${receiver.url}; Ctrl-C ends`
        : `listening on ${receiver.url}, where webhook ${webhook.id} sends events until Ctrl-C`,
    );
    await writeForReader(eventHeadings(shownFormat)).catch((error: unknown) => {
      if (!isReaderGone(error)) throw error; // then it is asked to end
    });
    if (
      webhook !== null &&
      flags.publicUrl === undefined &&
      isLoopbackHost(flags.host) &&
      !isLoopbackHost(new URL(connection.url).hostname)
    )
      tell(
        `${connection.url} is another machine as it seems, which sends to itself at ${flags.host}: give --host or --public-url`,
      );
    await asked;
    await webhook?.end();
  } finally {
    await receiver.close();
  }
}

function missingSecret(): never {
  throw new Problem(
    'say what deliveries are signed with: --secret-file FILE or --secret SECRET; or --on TYPE[,TYPE] for a webhook of its own',
    EXIT.usage,
  );
}

function port(text: string): number {
  const value = Number(text);
  if (!/^\d+$/u.test(text) || value > 65_535) throw new InvalidArgumentError('It should be a port from 0 to 65535.');
  return value;
}

function status(text: string): number {
  const value = Number(text);
  if (!/^\d+$/u.test(text) || value < 200 || value > 599)
    throw new InvalidArgumentError('It should be a status from 200 to 599.');
  return value;
}
