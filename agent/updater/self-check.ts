/** Whether a version that is not running yet would start: asked of its own programs, by its own runtime. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { execute } from '../../transport/net/execute.ts';
import { CODE_CACHE, RUNTIME_FILE, RUNTIME_LINK } from './layout.ts';
import { UpdateProblem } from './problem.ts';
import { AGENT_FILE, UPDATER_FILE } from './release.ts';
import type { UpdaterConfig } from './settings.ts';

/**
 * Each question is answered within this, in ms: compiling the programs for the first time takes 1 s on slow machines.
 */
export const CHECK_MS_MAX = 60_000;

/** Most that an answer may hold, in bytes. */
const ANSWER_BYTES_MAX = 65_536;

/** What is asked of which program, and whether it is to answer with the version. */
const QUESTIONS = [
  { program: AGENT_FILE, word: '--version', isVersion: true },
  { program: AGENT_FILE, word: 'check', isVersion: false },
  { program: UPDATER_FILE, word: '--version', isVersion: true },
  { program: UPDATER_FILE, word: 'check', isVersion: false },
] as const;

/**
 * Rejects with an UpdateProblem that says what the new version said. Its code is compiled and kept on the way, so that
 * its first start is as fast as any.
 */
export async function selfCheck(directory: string, version: string, config: UpdaterConfig): Promise<void> {
  const env = { ...process.env, ...agentVariables(config), NODE_COMPILE_CACHE: join(directory, CODE_CACHE) };
  for (const { program, word, isVersion } of QUESTIONS) {
    const said = await ask(directory, [join(directory, program), word], env);
    if (isVersion && said !== version)
      throw new UpdateProblem(
        `the ${program} of the release ${version} calls itself ${JSON.stringify(said.slice(0, 64))}`,
      );
  }
}

/** Settings of the agent, which the new one is to understand too. */
function agentVariables(config: UpdaterConfig): NodeJS.Dict<string> {
  const { UPDATER_AGENT_SETTINGS: path, UPDATER_AGENT_DATA_DIR: directory } = config;
  if (path === undefined) return { AGENT_DATA_DIR: directory };
  try {
    return { AGENT_DATA_DIR: directory, ...parseEnv(readFileSync(path, 'utf8')) };
  } catch (error) {
    throw new UpdateProblem(`UPDATER_AGENT_SETTINGS ${path} cannot be read: ${(error as Error).message}`, {
      cause: error,
    });
  }
}

function ask(
  directory: string,
  [program = '', ...words]: readonly string[],
  env: NodeJS.Dict<string>,
): Promise<string> {
  const runtime = join(directory, RUNTIME_LINK, RUNTIME_FILE);
  const options = { env, timeout: CHECK_MS_MAX, killSignal: 'SIGKILL', maxBuffer: ANSWER_BYTES_MAX } as const;
  return new Promise((resolve, reject) => {
    execute(runtime, [program, ...words], options, (error, stdout, stderr) => {
      if (error === null) return resolve(stdout.trim());
      const said = (stderr || stdout).trim().slice(-1_024) || error.message;
      reject(new UpdateProblem(`the new version does not pass its check (${words.join(' ')}): ${said}`));
    });
  });
}
