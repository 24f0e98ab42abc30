/** The executions of a command, kept as `commands.watch` tells them. Pure. */
import type { CommandResource, CommandSummary } from '../../actors/resources/command.ts';
import type { CommandMessage } from '../../api/feeds/commands.ts';
import type { ExecutionBrief } from '../../api/feeds/ports.ts';

/** Executions by their ids. One that changed is another object. */
export class ExecutionRows {
  #rows = new Map<string, ExecutionBrief>();
  /** The snapshot that is coming; null: none is. What was known before stands until it is whole. */
  #coming: Map<string, ExecutionBrief> | null = null;
  #command: CommandResource | null = null;
  #summary: CommandSummary | null = null;
  #isRemoved = false;

  /** Null: no whole snapshot came yet. */
  get command(): CommandResource | null {
    return this.#command;
  }

  get summary(): CommandSummary | null {
    return this.#summary;
  }

  /** It was deleted: the last thing that is told. */
  get isRemoved(): boolean {
    return this.#isRemoved;
  }

  get size(): number {
    return this.#rows.size;
  }

  get(id: string): ExecutionBrief | undefined {
    return this.#rows.get(id);
  }

  values(): IterableIterator<ExecutionBrief> {
    return this.#rows.values();
  }

  /** Takes one message. Answers what changed by it, and the ids of those that are gone. */
  apply(message: CommandMessage): { readonly changed: readonly ExecutionBrief[]; readonly gone: readonly string[] } {
    switch (message.type) {
      case 'removed':
        this.#isRemoved = true;
        return { changed: [], gone: [] };
      case 'snapshot': {
        const coming = message.page === 1 || this.#coming === null ? new Map<string, ExecutionBrief>() : this.#coming;
        for (const execution of message.executions) coming.set(execution.id, execution);
        this.#coming = coming;
        if (message.page < message.pages) return { changed: [], gone: [] };
        this.#command = message.command;
        this.#summary = message.command.summary;
        return this.#replace(coming);
      }
      case 'changed': {
        this.#summary = message.summary;
        const rows = this.#coming ?? this.#rows;
        const changed = message.executions.map((patch) => {
          const merged = { ...rows.get(patch.id), ...patch } as ExecutionBrief; // a patch of one that nobody knows is all of it
          rows.set(patch.id, merged);
          return merged;
        });
        return { changed: this.#coming === null ? changed : [], gone: [] };
      }
      default:
        return message satisfies never;
    }
  }

  #replace(coming: Map<string, ExecutionBrief>) {
    const before = this.#rows;
    this.#rows = coming;
    this.#coming = null;
    return {
      changed: [...coming.values()].filter((now) => !isSame(before.get(now.id), now)),
      gone: [...before.keys()].filter((id) => !coming.has(id)),
    };
  }
}

function isSame(one: ExecutionBrief | undefined, other: ExecutionBrief): boolean {
  return one?.status === other.status && one.exit_code === other.exit_code;
}
