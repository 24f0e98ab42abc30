/** `edge login`. */
import { createInterface } from 'node:readline/promises';
import type { Command as Program } from 'commander';
import { createClient } from '../service/client.ts';
import { serviceUrl, storedProxy, type ConnectionFlags } from '../service/connection.ts';
import { chosenContext, isContextName, nonEmpty, storeConnection } from '../service/contexts.ts';
import { hiddenLine } from '../hidden-line.ts';
import { tell } from '../output/output.ts';
import { EXIT, Problem, problemOf } from '../problem.ts';
import { HTTP_PROXY_PORT, parsedProxy } from '../reach/proxy.ts';

interface LoginFlags {
  readonly proxyUrl?: string;
  readonly proxyKeyStdin?: boolean;
}

const HELP = `
The proxy by which edge ssh, forward and others reach into nodes is on the host of the service, at the port that the service tells, with the
same key, which does when that is MASTER_KEY. Where it is elsewhere or has PROXY_KEY, say so once:
  edge login --url http://admin:44000 --proxy-url http://proxy:${HTTP_PROXY_PORT} --proxy-key-stdin < keys    a line each: the key, that of the proxy`;

/** Remembers where the service and its proxy are and with which keys, after trying the former. */
export function addLoginCommand(program: Program): void {
  program
    .command('login')
    .description('remember the URL and key (--key, EDGE_API_KEY, or asked for, unseen), and those of the proxy')
    .option('--proxy-url <url>', 'where the proxy is (default: where the service says)')
    .option(
      '--proxy-key-stdin',
      'read the key of the proxy from stdin, after that of the service if that is asked for too',
    )
    .addHelpText('after', HELP)
    .action(async (flags: LoginFlags, command: Program) => {
      const { key: flag } = command.optsWithGlobals<{ readonly key?: string }>();
      const context = chosenContext(process.env);
      if (context !== null && !isContextName(context))
        throw new Problem(
          `"${context}" is no name of a context: it should be a word of letters, digits, dots and dashes`,
          EXIT.usage,
        );
      const url = serviceUrl(command.optsWithGlobals<ConnectionFlags>(), process.env);
      const before = storedProxy(url, process.env);
      const proxyUrl = flags.proxyUrl === undefined ? before.proxyUrl : parsedProxy(flags.proxyUrl).url;
      const given = flag ?? nonEmpty(process.env['EDGE_API_KEY']);
      const asked = await askedKeys([
        ...(given === undefined ? [`Key for ${url}: `] : []),
        ...(flags.proxyKeyStdin === true ? ['Key of the proxy: '] : []),
      ]);
      const key = given ?? asked.shift();
      if (key === undefined)
        throw new Problem('no key was given: pass --key, set EDGE_API_KEY, or write it to stdin', EXIT.usage);
      const proxyKey = flags.proxyKeyStdin === true ? asked.shift() : before.proxyKey;
      if (flags.proxyKeyStdin === true && proxyKey === undefined)
        throw new Problem('no key of the proxy was given: write it to stdin', EXIT.usage);

      const admin = await createClient({ url, key })
        .get_admin.query({})
        .catch((error: unknown) => {
          throw problemOf(error, { url, key });
        });
      tell(
        `${admin.name} (${admin.version}) at ${url} accepts this key; remembered in ${storeConnection({ url, key, proxyUrl, proxyKey }, process.env)}`,
      );
    });
}

/** The answer to each question: typed at a terminal unseen, or a line of stdin; fewer when that ends before. */
async function askedKeys(questions: readonly string[]): Promise<string[]> {
  const answers: string[] = [];
  if (process.stdin.isTTY) {
    for (const question of questions) {
      const answer = (await hiddenLine(question, 'key')).trim();
      if (answer === '') break;
      answers.push(answer);
    }
    return answers;
  }
  if (questions.length === 0) return answers;
  const lines = createInterface({ input: process.stdin, terminal: false });
  try {
    for await (const line of lines) {
      if (line.trim() === '') continue;
      if (answers.push(line.trim()) === questions.length) break;
    }
  } finally {
    lines.close();
  }
  return answers;
}
