// Reads tables with DuckDB, without any option: paths come on stdin, one a line; for each a line of JSON goes to
// stdout: [columns, rows, names of the columns of numbers], or what DuckDB complains of.
//   node analytics.mjs TOOLS      TOOLS: the folder that the package @duckdb/node-api is installed in
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { resolve } from 'node:path'

const { DuckDBInstance } = createRequire(resolve(process.argv[2], 'package.json'))('@duckdb/node-api')
const connection = await (await DuckDBInstance.create(':memory:')).connect()
const number = /^(U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|FLOAT|DOUBLE|DECIMAL.*)$/

async function read(path) {
    // All rows are taken in, not just those that the sniffer looks at.
    await connection.run(`create or replace temp table seen as from '${path.replaceAll("'", "''")}'`)
    const columns = (await connection.runAndReadAll('describe seen')).getRowObjects()
    const [[rows]] = (await connection.runAndReadAll('select count(*) from seen')).getRows()
    return [columns.map(c => c.column_name), Number(rows),
        columns.filter(c => number.test(c.column_type)).map(c => c.column_name)]
}

for (const path of readFileSync(0, 'utf8').split('\n')) {
    let answer
    try {
        answer = await read(path)
    } catch (error) {
        answer = String(error.message ?? error)
    }
    process.stdout.write(JSON.stringify(answer) + '\n')
}
