// Numbers about texts.

import { Failure, serve } from './awf_plugin.mjs'

let stopWords = new Set()

const wordsOf = (text) => text.toLowerCase().match(/[\p{L}\p{N}'’-]+/gu) ?? []

const text = { type: 'string', required: true, description: 'The text' }

serve({
  name: 'text-stats',
  version: '1.0.0',
  description: 'Numbers about texts',

  configure: ({ stop_words = [] }) => {
    stopWords = new Set(stop_words.map((word) => word.toLowerCase()))
  },

  operations: {
    count: {
      description: 'Count the lines, words and characters of a text.',
      readOnly: true,
      inputs: { text },
      outputs: {
        lines: { type: 'integer' }, words: { type: 'integer' }, characters: { type: 'integer' },
      },
      run: ({ text }) => ({
        lines: text === '' ? 0 : text.replace(/\n$/, '').split('\n').length,
        words: wordsOf(text).length,
        characters: [...text].length,
      }),
    },

    top_words: {
      description: 'The words that a text uses most, with how often.',
      readOnly: true,
      inputs: {
        text,
        limit: { type: 'integer', default: 5, description: 'How many' },
        order: { type: 'string', default: 'often', enum: ['often', 'seldom'], description: 'Which come first' },
      },
      outputs: { words: { type: 'array', description: 'Objects with word and count' } },
      run: ({ text, limit, order }) => {
        if (limit < 1) throw new Failure(`limit has to be 1 or more, not ${limit}.`)
        const counts = new Map()
        for (const word of wordsOf(text)) if (!stopWords.has(word)) counts.set(word, (counts.get(word) ?? 0) + 1)
        const direction = order === 'often' ? -1 : 1
        const sorted = [...counts].sort(([a, x], [b, y]) => direction * (x - y) || (a < b ? -1 : 1))
        return { words: sorted.slice(0, limit).map(([word, count]) => ({ word, count })) }
      },
    },

    similarity: {
      description: 'How much two texts have in common, from 0 to 1: shared words by all words.',
      readOnly: true,
      inputs: { text, other: { ...text, description: 'The text to compare with' } },
      outputs: { similarity: { type: 'number' } },
      run: ({ text, other }) => {
        const [mine, theirs] = [new Set(wordsOf(text)), new Set(wordsOf(other))]
        const all = new Set([...mine, ...theirs])
        if (all.size === 0) throw new Failure('Neither text has a word in it.')
        return { similarity: [...mine].filter((word) => theirs.has(word)).length / all.size }
      },
    },
  },
})
